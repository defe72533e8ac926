/* help.c - what `cay help` teaches. */
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/say.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char cay_help[] =
    "cay runs unreviewed commands: a real shell in a sandbox of its own, in this process.\n"
    "The sandbox sees nothing of this machine but what you give it.\n"
    "\n"
    "usage: cay run [OPTION]... COMMAND...\n"
    "       cay python [OPTION]... [-c CODE | -m MODULE | FILE | -] [ARGUMENT]...\n"
    "       cay js [OPTION]... [-e CODE | -p CODE | FILE | -] [ARGUMENT]...\n"
    "       cay guests | doctor | serve | image | notebook | snapshot | tool | ws | help [COMMAND] | --version\n"
    "\n"
    "  run       run a command in a new sandbox (`cay help run`)\n"
    "  python    run Python in a new sandbox (`cay help python`)\n"
    "  js        run JavaScript in a new sandbox (`cay help js`)\n"
    "  guests    list the programs that a sandbox has\n"
    "  doctor    check this machine, and name a remedy for each check that fails\n"
    "  serve     answer programs: JSON-RPC over standard input and output\n"
    "  image     make an image of an interpreter that has its modules already imported\n"
    "  notebook  run a Jupyter notebook in a sandbox, and write it with its outputs\n"
    "  snapshot  look into files that hold whole sandboxes, compare them, turn archives into them\n"
    "  tool      check and call WebAssembly tools, which take JSON and give JSON\n"
    "  ws        provision workspaces, work in them, keep them as snapshots\n"
    "  help      explain a command\n"
    "\n"
    "First steps\n"
    "  cay run 'ls / | wc -l'                              a line for the shell\n"
    "  cay run --in data.csv 'sort data.csv | head'        with a copy of a file\n"
    "  cay run --mount .:/src --cwd /src 'grep -r TODO .'  over a directory, only to read\n"
    "  echo 'hello' | cay run 'tr a-z A-Z'                 input and output pass through\n"
    "\n"
    "The manual is cay(1).\n";

static const char run_help_start[] =
    "usage: cay run [OPTION]... COMMAND...\n"
    "       cay run [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "       cay run [OPTION]... FILE.wasm [ARGUMENT]...\n"
    "\n"
    "Runs a command in a new sandbox, which is gone afterwards. COMMAND is a line for bash; several words are\n"
    "joined with blanks. After -- stands a program and its arguments, taken as they are. A WebAssembly file of\n"
    "this machine is run as the program.\n"
    "\n"
    "Standard input, output and error pass through, and so does the exit code. Ctrl-C interrupts the command;\n"
    "twice within a second ends it.\n";

static const char run_help_end[] =
    "\n"
    "Exit code\n"
    "  the command's own, 128 + signal, 124 at the time limit or out of fuel,\n"
    "  125 when cay itself failed, 126 or 127 when the program cannot be run or is not there\n"
    "\n"
    "Examples\n"
    "  cay run 'for i in 1 2 3; do echo $i; done'\n"
    "  cay run -- printf '%s\\n' 'one argument' 'and another'\n"
    "  cay run --in src --out src/report.txt 'cd src && wc -l *.c > report.txt'\n"
    "  cay run --timeout 2s --memory 64M 'while :; do :; done'; echo $?\n"
    "  cay run --json 'ls /nowhere' | jq .exit_code\n"
    "  cay run --tty bash\n"
    "  cay run --env LANG --env MODE=test 'env | sort'\n"
    "  cay run --strace 'cat /etc/os-release' 2>trace.txt\n";

static const char python_help[] =
    "usage: cay python [OPTION]... [-c CODE | -m MODULE | FILE | -] [ARGUMENT]...\n"
    "\n"
    "Runs Python in a new sandbox, which is gone afterwards. FILE is a script of this machine, of which the sandbox\n"
    "gets a copy in the folder it starts in, with the modules and packages beside it that it names. Everything\n"
    "else is as python3(1) has it: arguments, standard input, exit code. On a terminal, without anything to run,\n"
    "it is the interpreter to talk to. The options before it are those of `cay run`: --in, --out, --mount, --env,\n"
    "--timeout, --memory, ...\n"
    "\n"
    "Examples\n"
    "  cay python -c 'print(6 * 7)'\n"
    "  cay python --timeout 5s script.py one two\n"
    "  cay python --image science --out-dir charts plot.py\n"
    "  echo 'print(\"from a pipe\")' | cay python -\n"
    "  cay python --in data.csv -c 'import csv; print(sum(1 for _ in csv.reader(open(\"data.csv\"))))'\n";

static const char js_help[] =
    "usage: cay js [OPTION]... [-e CODE | -p CODE | FILE | -] [ARGUMENT]...\n"
    "\n"
    "Runs JavaScript in a new sandbox: QuickJS-ng with the library of Node.js. OPTION is one of `cay run`, but -e is\n"
    "Node's own: a variable is --env NAME=VALUE. FILE is a script of this machine, of which the sandbox gets a copy in\n"
    "the folder it starts in, with the files beside and below it that it names ('./other.js') and its package.json.\n"
    "Everything else is as node(1) has it: arguments, standard input, exit codes.\n"
    "\n"
    "Examples\n"
    "  cay js -e 'console.log(6 * 7)'\n"
    "  cay js --timeout 5s script.js one two\n"
    "  echo 'console.log(\"from a pipe\")' | cay js -\n";

static const char notebook_help[] =
    "usage: cay notebook run [OPTION]... [--allow-errors] IN OUT\n"
    "\n"
    "Runs the code cells of a Jupyter notebook (nbformat 4) one after the other, in one session of one sandbox, and\n"
    "writes the notebook with their outputs: text, values, pictures, errors. IN and OUT may be the same file, and - is\n"
    "standard input or output. Its language is Python, JavaScript or TypeScript, as its metadata say.\n"
    "\n"
    "The options are those of `cay run` (`cay help run`); --timeout holds for each cell. At the first cell that fails the\n"
    "run ends, and the notebook is written up to its error. Exit code 1.\n"
    "\n"
    "      --allow-errors   go on after cells that fail; those with the tag raises-exception may fail anyway\n"
    "\n"
    "  cay notebook run analysis.ipynb analysis.out.ipynb\n"
    "  cay notebook run --mount data:/data --timeout 2m in.ipynb out.ipynb\n";

static const char image_help[] =
    "usage: cay image build [-c CODE] [--image NAME] [--language NAME] [--package PACKAGE] FILE\n"
    "       cay image build [--image NAME] [--language NAME] --install FILE\n"
    "       cay image info FILE\n"
    "\n"
    "build   starts an interpreter, runs CODE in it (imports, usually), and writes all of its memory to FILE. Programs and\n"
    "        sessions that begin as this image have the imports done and the variables set: `cay python --image FILE`,\n"
    "        Sandbox(image=\"FILE\"). Sessions have the files open, too, that CODE left open: by path, in their own files.\n"
    "        --package lets CODE import a package of pure Python or JavaScript, and may be given again. --install writes it in\n"
    "        the form in which it stands beside the guests, as the build of cay needs it; then nothing may be open.\n"
    "        --image starts the interpreter of an installed image: science has numpy and what stands on it.\n"
    "        The language is python, javascript or typescript; the default is python.\n"
    "info    says how large an image is, and whether it fits this cay.\n";

static const char snapshot_help[] =
    "usage: cay snapshot info FILE\n"
    "       cay snapshot ls [--long] [--all] FILE [PATH]\n"
    "       cay snapshot cat FILE PATH\n"
    "       cay snapshot diff [--patch] FILE FILE [PATH]\n"
    "       cay snapshot tree FILE...\n"
    "       cay snapshot save FILE ARCHIVE [DIR]\n"
    "       cay snapshot load ARCHIVE FILE [DIR]\n"
    "\n"
    "A snapshot is a whole sandbox in a file: its files, its environment and limits, its sessions. `cay run\n"
    "--save-snapshot FILE` makes one, `cay run --snapshot FILE` goes on from it. It holds what the sandbox held: keep\n"
    "it as you would keep that. FILE may be a tar archive, and - is standard input or output.\n"
    "\n"
    "info    when it was made, of what, and how large it is.\n"
    "ls      its files, at PATH and below: those that differ from what every sandbox has, a removed one after \"- \",\n"
    "        or all of them. --long adds mode, owner, length and links.\n"
    "cat     the contents of one file.\n"
    "diff    what changed from the first to the second, as a list (A added, D removed, M changed) or as a patch that\n"
    "        git apply and patch -p1 take. Exits with 0 when nothing did, 1 when something did, 2 when that is unknown.\n"
    "tree    the files as branches: each below the one that it was made from, with its label.\n"
    "save    writes its files as a tar archive: all that differ, or those below DIR.\n"
    "load    makes a snapshot of an archive, whose names begin at DIR; /home/agent unless said.\n";

static const char tool_help[] =
    "usage: cay tool run [OPTION]... [--json TEXT] NAME\n"
    "       cay tool check [--entrypoint NAME] [--dev] [--json] FILE\n"
    "       cay tool list | due | audit [--verify] [OPTION]... [--json]\n"
    "\n"
    "A tool is a WebAssembly module without imports: wasm/NAME_tool.wasm here, or what the configuration says.\n"
    "It asks for capabilities, and gets those that its allowlist names.\n"
    "\n"
    "run     calls a tool with a JSON object ({} by default; - reads standard input) and prints its result\n"
    "check   says whether a file is a tool, and if not, why\n"
    "list    shows the tools, whether their modules are fit, and their capabilities\n"
    "due     prints the tasks, wake-ups and reminders that are due, each once\n"
    "audit   prints the decisions about tools and their effects, and verifies that the log is unchanged;\n"
    "        --verify prints the verdict alone\n"
    "\n"
    "      --config FILE     a configuration: tools.settings.sandbox of it\n"
    "      --dir DIR         where relative paths of modules start; the default is here\n"
    "      --db FILE         what tools keep; the default is ~/.local/share/cay/tools.db; none: nothing\n"
    "      --audit FILE      the audit log; the default is ~/.local/share/cay/tool-audit.log; none: no log\n"
    "      --user NAME       whose rows are meant when a tool names no user\n"
    "      --timeout TIME    less time than the configuration gives, such as 500ms\n"
    "      --rounds N        call the tool again with each answer, up to N times\n"
    "      --dev             take placeholders for tools\n"
    "  -h, --help            show this\n"
    "\n"
    "Ctrl-C cancels a call: it is stopped wherever it is, and recorded. A second one ends cay at once.\n"
    "\n"
    "Exit code: 0; 1 when the tool failed, was refused, or the log was changed; 2 for wrong words; 125 when cay failed.\n"
    "\n"
    "Examples\n"
    "  cay tool run todo --json '{\"action\":\"list\"}' --user me\n"
    "  cay tool audit --verify\n";

static const char ws_help[] =
    "usage: cay ws provision [OPTION]... MANIFEST\n"
    "       cay ws exec [OPTION]... HANDLE COMMAND...\n"
    "       cay ws read | write [--mode MODE] HANDLE FILE\n"
    "       cay ws ls HANDLE [DIRECTORY]\n"
    "       cay ws patch [--strict] [--fuzz N] [--strip N] HANDLE [PATCH]\n"
    "       cay ws snapshot | start | stop HANDLE\n"
    "       cay ws resume | delete SNAPSHOT\n"
    "       cay ws list | snapshots | prune | fsck [OPTION]...\n"
    "\n"
    "A workspace is a folder in a sandbox of its own, kept in a store between two commands.\n"
    "\n"
    "provision  makes one from a manifest in JSON (- reads standard input) and prints its handle\n"
    "exec       runs a line for bash in it; input, output and the exit code are the command's\n"
    "read       writes a file of it to standard output; write replaces one by standard input; ls lists a directory\n"
    "patch      applies a unified diff (standard input by default): all of it or nothing\n"
    "snapshot   keeps its files and prints an id; resume makes a new workspace of one and prints its handle\n"
    "start      says whether a handle can be used; stop ends one for good\n"
    "list       lists workspaces; snapshots lists snapshots; delete removes one\n"
    "prune      removes snapshots by --keep and --max-age; fsck compares the store with its digests\n"
    "\n"
    "      --store DIR       the store; the default is ~/.local/state/cay/workspaces\n"
    "      --json            print JSON\n"
    "  -C, --cwd DIR         exec: where, relative to the workspace\n"
    "  -t, --timeout TIME    exec: such as 5s; the default is the manifest's, else 2m\n"
    "  -e, --env NAME=VALUE  exec: a variable; may be given again\n"
    "      --git-files DIR   provision: file:// URLs may lead below this folder\n"
    "      --git-credentials FILE   provision: lines https://USER:PASSWORD@HOST/PATH, for servers that want them\n"
    "      --git-ca FILE     provision: certificate authorities in PEM for https://, in place of the system's\n"
    "      --git-timeout TIME   provision: for the clone of a repository; the default is 5m\n"
    "      --keep N          prune: the newest N stay\n"
    "      --max-age TIME    prune: only older ones go, such as 48h\n"
    "      --repair          fsck: remove damaged snapshots, and files that belong to nothing\n"
    "  -h, --help            show this\n"
    "\n"
    "Exit code: the command's own for exec; 1 when something failed, 2 for wrong words, 125 when cay failed.\n"
    "\n"
    "Examples\n"
    "  handle=$(echo '{\"entries\":[{\"type\":\"file\",\"path\":\"a\",\"content\":\"hello\"}]}' | cay ws provision -)\n"
    "  cay ws exec $handle 'cat a; echo more >> a'\n"
    "  id=$(cay ws snapshot $handle)\n"
    "  cay ws stop $handle && cay ws resume $id\n";

static const char guests_help[] =
    "usage: cay guests [--json]\n"
    "\n"
    "Lists the programs that every sandbox starts with. CODE is \"ready\" when their machine code was made ahead\n"
    "of time and fits this machine; otherwise they are compiled when first run.\n"
    "CAY_GUESTS=DIR takes them from another folder.\n";

static const char doctor_help[] =
    "usage: cay doctor [--json]\n"
    "\n"
    "Looks at everything cay needs of this machine, runs a command in a sandbox, and says what to do about what\n"
    "does not work. \"note\" is for what cay can do without. Exits with 1 when something fails.\n";

static const char serve_help[] =
    "usage: cay serve --stdio [OPTION]...\n"
    "       cay serve --grpc ADDRESS [OPTION]...\n"
    "\n"
    "--stdio answers JSON-RPC 2.0: one request a line on standard input, one reply a line on standard output, and the\n"
    "log on standard error. At the end of input it finishes pending requests, and ends. At the call `kill`, when\n"
    "the reader of its replies is gone, and with the process that started it, it ends at once, and with it all\n"
    "that runs in its sandboxes.\n"
    "\n"
    "      --log-level LEVEL  error, warn, info or debug; the default is $CAY_LOG, else warn\n"
    "      --line-max SIZE    the longest request, such as 64M (the default)\n"
    "  -h, --help             show this\n"
    "\n"
    "Example\n"
    "  printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"create\"}' \\\n"
    "    '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"files.list\",\"params\":{\"path\":\"/\"}}' | cay serve --stdio\n"
    "\n"
    "The methods are in doc/reference/json-rpc.md; the Python and Node packages `cay` speak it for you.\n"
    "\n"
    "--grpc runs code for clients of gRPC (include/cay/sandbox.proto), each piece in a fresh sandbox. It takes no new\n"
    "calls after SIGTERM and ends when those under way have ended. Standard output has a line for each address.\n"
    "\n"
    "      --grpc ADDRESS       127.0.0.1:50051, [::1]:0 (a free port) or unix:/path; may be given again\n"
    "      --language NAME      typescript (the default), javascript or python\n"
    "      --module NAME=DIR    a package for scripts, read-only; may be given again\n"
    "      --tls-cert FILE, --tls-key FILE   PEM; an address that is not loopback needs them, or --plaintext\n"
    "      --tls-client-ca FILE clients need a certificate that one of these has signed\n"
    "      --tokens FILE        clients need a token of this file: name:token, one a line\n"
    "      --db FILE            the database; the default is ~/.local/share/cay/grpc.db; none: in memory\n"
    "      --parallel N         executions at once; the default is two for each processor\n"
    "      --queue N            executions of one client that may wait (1024), eight times as many of all\n"
    "      --memory SIZE        of each sandbox (512M)\n"
    "      --cpu TIME           of the processor, all processes of a sandbox together (60m)\n"
    "      --code-max SIZE, --output-max SIZE, --message-max SIZE   500000 bytes, 1M of each stream, 8M\n"
    "      --connections N, --streams N   at once (1024), and of each calls at once (1024)\n"
    "      --keep N, --keep-for TIME   executions that have ended (1000, 24h)\n"
    "      --cache-max N        pieces of code in the cache (10000)\n"
    "      --drain TIME         for calls to end after SIGTERM (30s)\n"
    "      --idle TIME, --ping TIME   without a call until a connection is closed (10m), without a byte until it is\n"
    "                           asked whether it lives (1m)\n"
    "      --metrics ADDRESS    counters for Prometheus at http://ADDRESS/metrics, on loopback\n"
    "      --log-level LEVEL    of the log, one JSON object a line (info)\n";

bool help_show(const char *command) {
  if (strcmp(command, "cay") == 0 || strcmp(command, "help") == 0) {
    (void)fputs(cay_help, stdout);
  } else if (strcmp(command, "run") == 0) {
    (void)fputs(run_help_start, stdout);
    request_help();
    (void)fputs(run_help_end, stdout);
  } else if (strcmp(command, "python") == 0) {
    (void)fputs(python_help, stdout);
  } else if (strcmp(command, "js") == 0) {
    (void)fputs(js_help, stdout);
  } else if (strcmp(command, "image") == 0) {
    (void)fputs(image_help, stdout);
  } else if (strcmp(command, "notebook") == 0) {
    (void)fputs(notebook_help, stdout);
  } else if (strcmp(command, "snapshot") == 0) {
    (void)fputs(snapshot_help, stdout);
  } else if (strcmp(command, "tool") == 0) {
    (void)fputs(tool_help, stdout);
  } else if (strcmp(command, "ws") == 0) {
    (void)fputs(ws_help, stdout);
  } else if (strcmp(command, "guests") == 0) {
    (void)fputs(guests_help, stdout);
  } else if (strcmp(command, "doctor") == 0) {
    (void)fputs(doctor_help, stdout);
  } else if (strcmp(command, "serve") == 0) {
    (void)fputs(serve_help, stdout);
  } else {
    return false;
  }
  return true;
}

int command_help(int argc, char **argv) {
  const char *about = argc > 1 ? argv[1] : "cay";
  if (help_show(about)) return 0;
  say("there is no command %.60s", about);
  say_hint("`cay help` lists them");
  return EXIT_USAGE;
}

int command_version(int argc, char **argv) {
  (void)argc, (void)argv;
  printf("cay %s\n", cay_version());
  return fflush(stdout) == 0 ? 0 : EXIT_WRONG;
}

bool command_flags(int argc, char **argv, bool *json, int *code) {
  static const struct option known[] = { { "help", no_argument, NULL, 'h' },
                                         { "json", no_argument, NULL, 'j' },
                                         { NULL, 0, NULL, 0 } };
  bool help = false, wrong = false;
  *json = false;
  *code = EXIT_USAGE;
  optind = 0;
  opterr = 0;
  for (int answer; (answer = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
    if (answer == 'j') *json = true;
    if (answer == 'h') help = true;
    if (answer == '?') wrong = true;
  }
  if (wrong || optind < argc) {
    say("cay %s takes only --json and --help", argv[0]);
    return false;
  }
  if (help) *code = help_show(argv[0]) ? 0 : EXIT_WRONG;
  return !help;
}
