"""The meaning of the words on the command line, and messages about words without one."""
import json
import pathlib
import re
import shutil
import subprocess

import harness


def test_one_word_is_a_line_for_the_shell(t):
    r = t.run("echo a; echo b | tr b c; echo ${BASH_VERSION%%.*}")
    assert r.code == 0 and r.text.startswith("a\nc\n5"), r


def test_several_words_are_joined_with_blanks(t):
    r = t.run("echo", "a  b", ";", "echo", "c")
    assert r.text == "a b\nc\n", r


def test_words_behind_a_double_dash_are_taken_as_they_are(t):
    r = t.run("--", "printf", "%s|", "a  b", "$HOME", "*", "")
    assert r.text == "a  b|$HOME|*||", r


def test_options_of_the_command_are_its_own(t):
    r = t.run("echo", "--json", "-q")
    assert r.text == "--json -q\n", r


def test_wrong_options_say_what_is_right(t):
    r = t.run("--memroy", "5", "true")
    assert r.code == 125 and "--memory" in r.errors and "cay help run" in r.errors, r
    r = t.run("--timeout", "soon", "true")
    assert r.code == 125 and "500ms" in r.errors, r
    r = t.run()
    assert r.code == 125 and "nothing to run" in r.errors, r


def test_an_unknown_command_is_recognised_or_told_how_to_run(t):
    r = t.cay("rum")
    assert r.code == 2 and "did you mean run" in r.errors, r
    r = t.cay("frobnicate")
    assert r.code == 2 and "cay run 'frobnicate'" in r.errors, r
    r = t.cay()
    assert r.code == 2 and "usage:" in r.text, r


def test_a_program_that_is_not_there_is_127(t):
    r = t.run("--", "no-such-program")
    assert r.code == 127 and "no-such-program" in r.errors, r
    r = t.run("no-such-program")
    assert r.code == 127, r


def test_a_file_that_is_no_program_is_126(t):
    r = t.run("--", "/etc/passwd")
    assert r.code == 126 and "/etc/passwd" in r.errors, r


def test_a_file_of_the_host_is_explained(t):
    t.path("tool.sh", "#!/bin/sh\necho hi\n", 0o755)
    r = t.run("./tool.sh")
    assert r.code == 127 and "--in ./tool.sh" in r.errors, r
    assert "--in" not in t.run("-q", "./tool.sh").errors


def test_help_and_version_are_there(t):
    assert re.fullmatch(r"cay \d+\.\d+\.\d+\n", t.cay("--version").text)
    assert "cay run" in t.cay("--help").text
    assert "--mount" in t.cay("help", "run").text
    assert t.cay("help", "run").text == t.run("--help").text
    assert t.cay("help", "nothing").code == 2
    for command in ("guests", "doctor", "serve"):
        assert "usage: cay " + command in t.cay(command, "--help").text


def options_of_help(t):
    return set(re.findall(r"--[a-z]+(?=[ \n])", t.cay("help", "run").text.split("\nExit code")[0])) - {"--"}


def test_the_manual_and_the_completions_know_every_option(t):
    options = options_of_help(t)
    assert {"--in", "--json", "--timeout"} <= options, options
    manual = (harness.ROOT / "doc/man/cay.1").read_text()
    assert options <= {"--" + name for name in re.findall(r"Fl -([a-z]+)", manual)}
    bash = (harness.ROOT / "src/cli/completion/cay.bash").read_text()
    assert options <= set(re.findall(r"--[a-z]+", bash))
    zsh = (harness.ROOT / "src/cli/completion/cay.zsh").read_text()
    assert options <= set(re.findall(r"--[a-z]+", zsh))


def test_the_manual_and_the_completions_know_every_command(t):
    commands = set(re.findall(r"^  ([a-z]+)  ", t.cay("help").text.split("First steps")[0], re.M))
    assert {"run", "python", "js", "image", "ws"} <= commands, commands
    manual = (harness.ROOT / "doc/man/cay.1").read_text()
    assert commands <= set(re.findall(r"^\.Nm\n\.Cm ([a-z]+)", manual, re.M))
    assert commands - {"help"} <= set(re.findall(r"^\.Ss cay ([a-z]+)", manual, re.M))
    zsh = (harness.ROOT / "src/cli/completion/cay.zsh").read_text()
    assert commands <= set(re.findall(r"^    '([a-z]+):", zsh, re.M))
    assert commands <= set(completions("cay ")) and commands - {"help"} <= set(completions("cay help "))


def completions(line):
    """What bash offers behind this line."""
    script = """source "$1"; compopt() { :; }; COMP_LINE=$2 COMP_POINT=${#2}; _cay; printf '%s\\n' "${COMPREPLY[@]}\""""
    done = subprocess.run(["bash", "-c", script, "bash", harness.ROOT / "src/cli/completion/cay.bash", line],
                          capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(t):
    assert completions("cay r") == ["run"]
    assert completions("cay run --m") == ["--mount", "--memory"]
    assert completions("cay run --timeout n") == ["none"]
    assert completions("cay help do") == ["doctor"]
    assert str(t.path("some-file", "")) in completions(f"cay run --in {t.dir}/some")
    assert completions("cay run --mount a:b") == []


def test_guests_lists_what_is_in_the_sandbox(t):
    text = t.cay("guests").text
    assert "/usr/bin/bash" in text and "busybox" in text, text
    guests = json.loads(t.cay("guests", "--json").text)["guests"]
    bash = [g for g in guests if g["path"] == "/usr/bin/bash"]
    assert bash and bash[0]["bytes"] > 100000, guests


def folder_with_bc(t, manifest, text):
    """A folder of guests with one module, bc.wasm."""
    folder = t.path(manifest, text).parent
    shutil.copy(pathlib.Path(json.loads(t.cay("guests", "--json").text)["dir"]) / "bc.wasm", folder)
    return folder


def test_further_guests_come_from_a_second_folder(t):
    folder = folder_with_bc(t, "extra/guest.list", "file /usr/bin/calculator bc.wasm protect\nfile /usr/bin/vi bc.wasm protect\n")
    extra = {"CAY_GUESTS_EXTRA": str(folder)}
    r = t.run("echo 6*7 | calculator; echo 1+1 | vi; ls /usr/bin/sed", env=extra)
    assert r.code == 0 and r.text == "42\n2\n/usr/bin/sed\n", r
    (folder / "guest.list").write_text("nonsense\n")
    r = t.run("true", env=extra)
    assert r.code == 125 and "extra/guest.list" in r.errors, r


def test_installed_image_is_chosen_by_name_and_replaces_namesakes(t):
    folder = folder_with_bc(t, "calculating/guest.list", "file /usr/bin/vi bc.wasm protect\n")
    image = {"CAY_GUESTS_CALCULATING_1": str(folder)}
    r = t.cay("run", "--image", "calculating-1", "echo 1+1 | vi", env=image)
    assert r.code == 0 and r.text == "2\n", r
    r = t.cay("run", "--image", "calculating-1", "true")
    assert r.code == 125 and 'image "calculating-1" is not installed' in r.errors and "cay-calculating-1" in r.errors, r
    r = t.cay("run", "--image", "./calculating", "true", env=image)
    assert r.code == 125 and "calculating" in r.errors, r


def test_userland_busybox_has_dash_for_its_shell_and_no_other_programs(t):
    r = t.cay("run", "--image", "busybox", "echo $0; seq 3 | sort -rn | tr '\\n' ' '; ls /usr/bin/bash; command -v python3 || [ -z x ] || [[ a = a ]] && awk 'BEGIN { print 6*7 }'")
    assert r.code == 0 and r.text == "sh\n3 2 1 42\n" and "/usr/bin/bash: No such file" in r.errors, r
    r = t.cay("python", "--image", "busybox", "-c", "1")
    assert r.code == 127 and "python3: there is no such program in the sandbox" in r.errors, r


def test_userland_is_a_list_in_the_folder_of_the_guests_and_needs_no_other(t):
    folder = folder_with_bc(t, "guests/small.list", "file /usr/bin/bc bc.wasm protect\n")
    small = {"CAY_GUESTS": str(folder)}
    r = t.cay("run", "--image", "small", "--", "bc", env=small, input=b"6*7\n")
    assert r.code == 0 and r.text == "42\n", r
    r = t.cay("run", "--image", "small", "true; true", env=small)
    assert r.code == 127 and "there is no such program in the sandbox" in r.errors, r
    (folder / "small.list").write_text("nonsense\n")
    r = t.cay("run", "--image", "small", "true", env=small)
    assert r.code == 125 and "guests/small.list: line 1" in r.errors, r


def test_missing_guests_are_named_with_what_to_do(t):
    r = t.run("true", env={"CAY_GUESTS": "/no/such/folder"})
    assert r.code == 125 and "/no/such/folder" in r.errors and "CAY_GUESTS" in r.errors, r
    r = t.cay("doctor", env={"CAY_GUESTS": "/no/such/folder"})
    assert r.code == 1 and "FAIL" in r.text, r


def test_the_doctor_finds_nothing_wrong_here(t):
    r = t.cay("doctor")
    assert r.code == 0 and "cay works here." in r.text, r
    checks = json.loads(t.cay("doctor", "--json").text)
    assert {c["level"] for c in checks} <= {"ok", "note"}, checks
    assert "a run" in [c["name"] for c in checks], checks


def test_words_of_other_programs_are_translated(t):
    for words, hint in ((["-v", "/a:/b", "ls"], "--mount HOST:GUEST"), (["--volume=/a:/b", "ls"], "--mount HOST:GUEST"),
                        (["-it", "bash"], "--tty"), (["--rm", "ls"], "always gone afterwards"),
                        (["--network", "none", "ls"], "--allow-net HOST[:PORT]"), (["-w", "/tmp", "ls"], "--cwd DIR"),
                        (["--enviroment", "A=b", "env"], "--env"), (["--timeouts", "5", "ls"], "--timeout"), (["--mout", "/a:/b", "ls"], "did you mean --mount?"),
                        (["--directory", "x", "ls"], "there is no option --directory")):
        r = t.run(*words)
        assert r.code == 125 and hint in r.errors and not r.text, (words, r)
    for command in ("python", "js"):
        r = t.cay(command, "--rm", "x.py")
        assert r.code == 125 and "always gone afterwards" in r.errors, r
    for words in (["--pull", "always", "ls"], ["--init", "ls"], ["--gpus", "all", "ls"], ["--env-file", "f", "ls"], ["--cap-drop=ALL", "ls"]):
        r = t.run(*words)
        assert r.code == 125 and "did you mean" not in r.errors and f"there is no option {words[0].split('=')[0]}: " in r.errors, (words, r)
    r = t.run("ubuntu:24.04", "ls")
    assert r.code == 127 and "there is no image to choose" in r.errors, r


def test_commands_of_other_programs_are_translated(t):
    for word, hint in (("exec", "cay run COMMAND"), ("sh", "cay run --tty sh"), ("ps", "ends with its command"), ("node", "cay js"),
                       ("python3", "cay python"), ("build", "cay image build"), ("rm", "ends with its command"), ("images", "did you mean image?")):
        r = t.cay(word, "x")
        assert r.code == 2 and hint in r.errors, (word, r)


def test_what_cannot_be_written_is_a_failure(t):
    for words, code in ((["--help"], 1), (["help", "run"], 1), (["run", "--help"], 125), (["python", "--help"], 125),
                        (["--version"], 1), (["serve", "--help"], 1), (["tool", "--help"], 1), (["image", "--help"], 1),
                        (["guests"], 1), (["doctor"], 1)):
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.CAY, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == code and "cannot write to standard output" in done.stderr, (words, done)


def test_messages_say_which_side_a_path_is_on(t):
    r = t.run("--in", "nothing", "true")
    assert "--in: on this machine: nothing: No such file or directory" in r.errors, r
    r = t.run("--in", "/etc/passwd:/etc/passwd/x", "true")
    assert "--in: in the sandbox: ENOTDIR: /etc/passwd/x" in r.errors, r
    r = t.run("--out", "nothing", "true")
    assert "--out: in the sandbox: ENOENT: /home/agent/nothing" in r.errors, r


def test_the_completion_knows_every_command(t):
    assert completions("cay python --m") == completions("cay js --m") == ["--mount", "--memory"]
    assert completions("cay image b") == ["build"]
    assert completions("cay image build --p") == ["--package"]
    assert completions("cay help im") == ["image"]
