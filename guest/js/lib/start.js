// start.js - a program begins: `node ARGS`, in a process that has just started or that came out of an image.
'use strict';

const { process, loop, options } = host;

function printHelp() {
  native.write(1, new Uint8Array(native.encode(1, `Usage: node [options] [script.js | -e CODE | -p CODE | -] [arguments]

  -e, --eval CODE      run CODE
  -p, --print CODE     run CODE and print its value
  -c, --check          check the syntax of the script without running it
  -r, --require NAME   load a module before the script (--import: an ES module)
  --input-type=module  CODE or standard input is an ES module
  -v, --version        print the version of Node.js whose library this is

Without a script, the program is read from standard input.
`)), 0, 0x7fffffff);
}

function mainOf(rest) {
  if (options['--help']) return printHelp;
  if (options['--version']) return () => native.write(1, new Uint8Array(native.encode(1, `${process.version}\n`)), 0, 64);
  const run = (name) => () => host.run(`internal/main/${name}`);
  if (options['--test']) return run('test_runner');
  if (options['--check'] && rest.length > 0) return run('check_syntax');
  if (options['--eval'] !== undefined) return run('eval_string');
  if (rest.length > 0 && rest[0] !== '-') return run('run_main_module');
  return native.isatty(0) || options['--interactive'] ? run('repl') : run('eval_stdin');
}

// Options that variables of the environment set.
function takeVariables() {
  const isOn = (name) => native.getenv(name) === '1';
  if (isOn('NODE_PENDING_DEPRECATION')) options['--pending-deprecation'] = true;
  if (isOn('NODE_PRESERVE_SYMLINKS')) options['--preserve-symlinks'] = true;
  if (isOn('NODE_PRESERVE_SYMLINKS_MAIN')) options['--preserve-symlinks-main'] = true;
  if (isOn('NODE_USE_ENV_PROXY')) options['--use-env-proxy'] = true;
  if (isOn('NODE_USE_SYSTEM_CA')) options['--use-system-ca'] = true;
  options['--redirect-warnings'] = native.getenv('NODE_REDIRECT_WARNINGS') ?? '';
}

// What the library reads once, when it is loaded. If that was for the image, the program starts without one.
const ONCE = ['--unhandled-rejections', '--network-family-autoselection', '--network-family-autoselection-attempt-timeout', '--insecure-http-parser',
  '--use-env-proxy', '--pending-deprecation', '--experimental-import-meta-resolve', '--redirect-warnings', '--trace-tls', '--tls-keylog', '--tls-cipher-list',
  '--tls-min-v1.0', '--tls-min-v1.1', '--tls-min-v1.2', '--tls-min-v1.3', '--tls-max-v1.2', '--tls-max-v1.3'];
const COLD = host.coldProgram = '/usr/libexec/cay/node';
function beginAnew(args, argv0) {
  const usual = { ...options };
  return () => {
    const changed = ONCE.some((name) => host.optionsOfImage.has(name) && `${options[name]}` !== `${usual[name]}`);
    if (changed) native.exec(COLD, [argv0, ...args]); // comes back when there is none
  };
}

host.main = (args, argv0) => {
  host.isRunning = true;
  host.endSession();
  host.forgetHandles();
  host.resetOptions();
  const checkImage = host.isImage ? beginAnew(args, argv0) : host.noop;
  takeVariables();
  const environment = native.getenv('NODE_OPTIONS');
  const given = environment ? environment.split(/\s+/).filter(Boolean) : [];
  if (given.length > 0) host.parseArguments(given);
  const { taken, rest } = host.parseArguments(args);
  checkImage();
  host.execArgv = taken;
  host.argv0 = argv0;
  host.argv = options['--eval'] === undefined && rest[0] === '-' ? ['-', ...rest.slice(1)] : rest;
  loop.restart();
  host.beginMilestones();
  const main = mainOf(rest);
  loop.call(main);
  if (main !== printHelp && !options['--version']) loop.run();
  const code = process.exitCode ?? 0;
  process._exiting = true;
  loop.call(() => process.emit('exit', code));
  native.exit(process.exitCode ?? 0);
};
