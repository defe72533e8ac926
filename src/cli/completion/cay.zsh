#compdef cay
# zsh completion for cay(1)

_cay_pair() { # HOST:GUEST, of which the first half is a file of this machine
  if compset -P '*:'; then
    _message 'path in the sandbox'
  else
    _files -S ':'
  fi
}

_cay_run() {
  _arguments -S \
    '*--in=[copy a file or directory into the sandbox]:HOST\[\:GUEST\]:_cay_pair' \
    '*--out=[copy a file or directory out of it]:GUEST\[\:HOST\]:' \
    '--out-dir=[write what Python displays as files]:directory:_files -/' \
    '*--mount=[let the sandbox see a directory]:HOST\:GUEST\[\:rw|\:cow\]:_cay_pair' \
    '--changes[list the changes in mounts with :cow]' \
    '--patch=[keep these changes as a unified diff]:file:_files' \
    '--apply[make these changes on this machine]' \
    '*--package=[a package of pure Python or JavaScript]:package:_files' \
    '*--wheel=[the same as --package]:package:_files' \
    '--net=[the network that it may reach]:preset:(none package-registries all-public)' \
    '*--allow-net=[let it connect there]:HOST\[\:PORT\]:_hosts' \
    '*--deny-net=[but not there]:HOST\[\:PORT\]:_hosts' \
    '--net-rules=[rules of the egress policy]:JSON:' \
    '*--add-host=[a name that leads to an address]:NAME=ADDRESS:' \
    '--net-ca=[certificate authorities beside the usual ones]:file:_files' \
    '*--secret=[a value that the sandbox never sees]:NAME@HOST:' \
    '--net-record=[write all HTTP of the sandbox to this file]:file:_files' \
    '--net-crl=[lists of revoked certificates]:file:_files' \
    '--net-cache=[keep answers that may be kept]:file:_files' \
    '--net-replay=[answer from such a file]:file:_files' \
    '*--publish=[forward a port of this machine]:PORT\[\:HOSTPORT\]:' \
    '--snapshot=[begin as this snapshot]:file:_files' \
    '--save-snapshot=[keep all of the sandbox in a file at the end]:file:_files' \
    '--image=[the interpreter as cay image build has kept it]:file:_files' \
    '*'{-e,--env=}'[set or inherit a variable]:NAME\[=VALUE\]:_parameters -g "*export*" -qS=' \
    '(-C --cwd)'{-C,--cwd=}'[where it starts]:directory of the sandbox:' \
    '(-T --tty)'{-T,--tty}'[give it a terminal of its own]' \
    '(-t --timeout)'{-t,--timeout=}'[end it after this time]:time:(1s 10s 1m 5m none)' \
    '--memory=[memory of all processes]:size:(64M 256M 1G)' \
    '--disk=[bytes in files]:size:(64M 256M 1G)' \
    '--procs=[processes at once]:number:' \
    '--cpu=[time of the processor, all processes together]:time:(10s 1m 10m none)' \
    '--code=[modules of its own that it may have compiled]:size:(64M 256M 1G)' \
    '--fuel=[WebAssembly operations]:number:(10M 1G)' \
    '--json[the whole result as one JSON object]' \
    '--capture=[the most of each output stream that --json keeps]:size:(64K 1M 16M)' \
    '--strace[show each system call]' \
    '--stats[show times and amounts at the end]' \
    '(-q --quiet)'{-q,--quiet}'[do not explain how the run ended]' \
    '(-h --help)'{-h,--help}'[show the options]' \
    "$@"
}

_cay() {
  local -a commands=(
    'run:run a command in a new sandbox'
    'python:run Python in a new sandbox'
    'js:run JavaScript or TypeScript in a new sandbox'
    'guests:list the programs that a sandbox has'
    'doctor:say what works on this machine'
    'serve:answer programs over JSON-RPC'
    'image:make an image of an interpreter'
    'notebook:run a Jupyter notebook in a sandbox'
    'snapshot:look into files that hold whole sandboxes'
    'tool:check and call WebAssembly tools'
    'ws:provision workspaces and work in them'
    'help:explain a command'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    _arguments '--help' '--version'
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
  run) _cay_run '1:command or WebAssembly file:_files' '*::argument:_files' ;;
  python) _cay_run '-c[code to run]:code:' '-m[module to run]:module:' '1:script:_files -g "*.py"' '*::argument:_files' ;;
  js) _cay_run '-p[code to run and show]:code:' '1:script:_files -g "*.(js|mjs|cjs|ts|mts|cts)"' '*::argument:_files' ;;
  notebook) _cay_run '--allow-errors[go on after cells that fail]' '1:command:(run)' '2:notebook:_files -g "*.ipynb"' '3:with outputs:_files' ;;
  image)
    _arguments '--language=[of the interpreter]:language:(python javascript typescript)' '-c[code that it has run]:code:' '*--package=[a package that the code may import]:package:_files' '*--wheel=[the same as --package]:package:_files' \
      '--install[as it stands beside the guests]' '--help[explain the command]' '1:what:(build info)' '2:file:_files'
    ;;
  snapshot)
    _arguments '--patch[as a patch]' '--all[what every sandbox has, too]' '--long[with mode, owner, length, links]' '--help[explain the command]' \
      '1:what:(info ls cat diff tree save load)' '2:file:_files' '3:file:_files' '4:path:'
    ;;
  ws)
    _arguments '--store=[the store]:folder:_files -/' '--json[as JSON]' '(-C --cwd)'{-C,--cwd=}'[where]:directory of the workspace:' \
      '(-t --timeout)'{-t,--timeout=}'[end it after this time]:time:' '*'{-e,--env=}'[a variable]:NAME=VALUE:' \
      '--mode=[of the file]:octal:' '--strict[no offset, all of the context]' '--fuzz=[lines of context]:count:' \
      '--strip=[folders taken off names]:count:' '--git-files=[file URLs below]:folder:_files -/' '--git-credentials=[lines with passwords]:file:_files' \
      '--git-ca=[certificate authorities]:file:_files' '--git-timeout=[for a clone]:time:' '--keep=[the newest so many]:count:' \
      '--max-age=[only older ones]:time:' '--repair[remove damaged snapshots]' '--help[explain the command]' \
      '1:what:(provision exec read write ls patch snapshot resume start stop list snapshots delete prune fsck)' '*:argument:_files'
    ;;
  guests | doctor) _arguments '--json[as JSON]' '--help[explain the command]' ;;
  serve)
    _arguments '--stdio[on standard input and output]' '--grpc=[calls of gRPC on this address]:address:' \
      '--language=[language of the code]:language:(javascript python typescript)' '*--module=[a package for scripts]:NAME=DIR:' '--db=[database]:file:_files' \
      '--tls-cert=[certificate]:file:_files' '--tls-key=[its key]:file:_files' '--tls-client-ca=[who signs those of clients]:file:_files' \
      '--tokens=[tokens of clients]:file:_files' '--parallel=[executions at once]:count:' '--queue=[that may wait]:count:' '--help[explain the command]' \
      '--log-level=[what the log holds]:level:(error warn info debug)' '--line-max=[the longest request]:size:(1M 64M)'
    ;;
  tool)
    _arguments '--config=[a configuration]:file:_files' '--dir=[where modules are]:folder:_files -/' \
      '--db=[what tools keep]:file:_files' '--audit=[the audit log]:file:_files' '--user=[whose rows]:name:' \
      '--timeout=[less time]:time:' '--rounds=[call again with each answer]:count:' '--dev[take placeholders for tools]' \
      '--verify[the verdict alone]' '--help[explain the command]' '1:what:(check run list audit due)' '*:tool or file:_files'
    ;;
  help) _describe command commands ;;
  esac
}

_cay "$@"
