use cay::{
    End, Engine, ExecOptions, Manifest, Outcome, RunOptions, Sandbox, SandboxBuilder, Session, Status, Stream, Workspaces,
};
use std::time::Duration;

#[test]
fn a_sandbox_runs_commands_and_has_files() {
    let engine = Engine::new().unwrap();
    let sandbox = SandboxBuilder { env: vec![("A".into(), "x".into())], ..Default::default() }.build(&engine).unwrap();
    sandbox.write_file("/home/agent/in/names", b"pear\napple\n", 0).unwrap();
    let result = sandbox.run("sort in/names; echo $A >&2; exit 4").unwrap();
    assert_eq!((result.stdout.as_slice(), result.stderr.as_slice()), (&b"apple\npear\n"[..], &b"x\n"[..]));
    assert_eq!((result.end, result.exit_code), (End::Exit, 4));
    let options = RunOptions { input: b"in".to_vec(), cwd: Some("/tmp".into()), ..Default::default() };
    assert_eq!(sandbox.run_with("pwd; cat", &options).unwrap().stdout, b"/tmp\nin");
    assert_eq!(sandbox.list("/home/agent/in").unwrap()[0].0, "names");
    let missing = sandbox.read_file("/nowhere").unwrap_err();
    assert_eq!((missing.status, missing.errno), (Status::NotFound, 2));
    assert_eq!(sandbox.read_file("a\0b").unwrap_err().status, Status::Invalid);
}

#[test]
fn a_deadline_is_a_result() {
    let sandbox = Sandbox::new(&Engine::new().unwrap()).unwrap();
    let options = RunOptions { timeout: Some(Duration::from_millis(100)), ..Default::default() };
    assert_eq!(sandbox.run_with("sleep 100", &options).unwrap().end, End::Time);
}

#[test]
fn processor_time_is_bounded_for_the_life_of_a_sandbox() {
    let builder = SandboxBuilder { cpu: Some(Duration::from_millis(200)), ..Default::default() };
    let sandbox = builder.build(&Engine::new().unwrap()).unwrap();
    assert_eq!(sandbox.run("while :; do :; done").unwrap().end, End::Time);
    assert_eq!(sandbox.run("sleep 1000").unwrap().end, End::Time);
}

#[test]
fn a_session_keeps_its_variables() {
    let sandbox = Sandbox::new(&Engine::new().unwrap()).unwrap();
    let session = Session::new(&sandbox, "python").unwrap();
    assert_eq!(session.eval("x = 20", None).unwrap().outcome, Outcome::Value);
    assert_eq!(session.eval("x + 1", None).unwrap().repr, "21");
    let failed = session.eval("1 / 0", None).unwrap();
    assert_eq!((failed.outcome, failed.error_type.as_str()), (Outcome::Error, "ZeroDivisionError"));
}

#[test]
fn an_image_starts_a_session() {
    let program = format!("{}/cli/cay", std::env::var("CAY_LIB_DIR").expect("run-tests sets it"));
    let image = std::env::temp_dir().join(format!("cay-rust-{}.image", std::process::id()));
    let made = std::process::Command::new(program).args(["image", "build", "-c", "ready = 41"]).arg(&image).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let sandbox = Sandbox::new(&Engine::new().unwrap()).unwrap();
    let session = Session::from_image(&sandbox, "python", &image);
    let other = Session::from_image(&sandbox, "javascript", &image);
    std::fs::remove_file(&image).unwrap();
    assert_eq!(session.unwrap().eval("ready + 1", None).unwrap().repr, "42");
    assert_eq!(other.err().unwrap().status, Status::Unsupported);
    assert_eq!(Session::from_image(&sandbox, "python", "/nowhere").err().unwrap().status, Status::NotFound);
}

#[test]
fn output_of_a_workspace_comes_as_it_is_written() {
    let workspaces = Workspaces::open(&Engine::new().unwrap()).unwrap();
    let handle = workspaces.provision(&Manifest::default()).unwrap();
    let session = workspaces.start(&handle).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let options = ExecOptions::default();
    let done = session
        .exec_streaming("echo one; echo two >&2; (sleep 0.1; echo late) & exit 3", &options, |stream, bytes| {
            if stream == Stream::Stdout { out.extend_from_slice(bytes) } else { err.extend_from_slice(bytes) }
        })
        .unwrap();
    assert_eq!((done.exit_code, out.starts_with(b"one\n"), err.as_slice()), (3, true, &b"two\n"[..]));
    drop((out, err)); // the process that was left behind writes to none of them
    assert_eq!(session.exec("sleep 0.3; echo ok").unwrap().stdout, b"ok\n");
    let shouted = session.exec_streaming("echo x; echo y", &options, |_, _| panic!("of the function"));
    assert_eq!(shouted.unwrap().stdout, b"x\ny\n");
}
