# bash completion for cay(1)

_cay_paths() { # what the names of files in $1 continue to, directories with a slash
  compopt -o nospace -o filenames
  COMPREPLY=($(compgen -f -- "$1"))
}

_cay_run() {
  local word=$1 before=$2
  case $before in
  --package | --wheel | --patch | --image | --net-ca | --net-crl | --net-cache | --net-record | --net-replay | --snapshot | --save-snapshot) _cay_paths "$word" && return ;;
  --out-dir) COMPREPLY=($(compgen -d -- "$word")) && return ;;
  --in | --mount)
    [[ $word == *:* ]] || _cay_paths "$word"
    return
    ;;
  -e | --env)
    compopt -o nospace
    COMPREPLY=($(compgen -v -- "$word"))
    return
    ;;
  -t | --timeout | --cpu) COMPREPLY=($(compgen -W '1s 10s 1m 5m none' -- "$word")) && return ;;
  --memory | --disk | --code) COMPREPLY=($(compgen -W '64M 256M 1G' -- "$word")) && return ;;
  --capture) COMPREPLY=($(compgen -W '64K 1M 16M' -- "$word")) && return ;;
  --net) COMPREPLY=($(compgen -W 'none package-registries all-public' -- "$word")) && return ;;
  --allow-net | --deny-net) COMPREPLY=($(compgen -A hostname -- "$word")) && return ;;
  --out | -C | --cwd | --procs | --fuel | --net-rules | --add-host | --secret | --publish) return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W '--in --out --out-dir --mount --changes --patch --apply --package --wheel --snapshot --save-snapshot --image --net --allow-net --deny-net --net-rules --add-host --net-ca --net-crl --net-cache --secret --net-record --net-replay --publish --env --cwd --tty --timeout --cpu --memory --disk --procs --code
      --fuel --json --capture --strace --stats --quiet --help' -- "$word"))
  else
    _cay_paths "$word"
  fi
}

_cay() {
  # COMP_WORDS splits at ':', which stands inside our values: take the line apart at blanks.
  local line=${COMP_LINE:0:COMP_POINT} words word before
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=${words[-1]} before=${words[-2]}
  COMPREPLY=()
  if ((${#words[@]} <= 2)); then
    COMPREPLY=($(compgen -W 'run python js guests doctor serve image notebook snapshot tool ws help --help --version' -- "$word"))
    return
  fi
  case ${words[1]} in
  run) _cay_run "$word" "$before" ;;
  python)
    case $before in
    -c | -m) ;;
    *) _cay_run "$word" "$before" ;;
    esac
    ;;
  js)
    case $before in
    -e | -p) ;;
    *) _cay_run "$word" "$before" ;;
    esac
    ;;
  snapshot)
    case $before in
    snapshot) COMPREPLY=($(compgen -W 'info ls cat diff tree save load --help' -- "$word")) ;;
    *)
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '--patch --all --long --help' -- "$word"))
      else
        _cay_paths "$word"
      fi
      ;;
    esac
    ;;
  notebook)
    case $before in
    notebook) COMPREPLY=($(compgen -W 'run --help' -- "$word")) ;;
    *) _cay_run "$word" "$before" ;;
    esac
    ;;
  image)
    case $before in
    image) COMPREPLY=($(compgen -W 'build info --help' -- "$word")) ;;
    -c) ;;
    --language) COMPREPLY=($(compgen -W 'python javascript typescript' -- "$word")) ;;
    *)
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '-c --language --package --wheel --install --help' -- "$word"))
      else
        _cay_paths "$word"
      fi
      ;;
    esac
    ;;
  ws)
    case $before in
    ws) COMPREPLY=($(compgen -W 'provision exec read write ls patch snapshot resume start stop list snapshots delete prune
      fsck --help' -- "$word")) ;;
    --store | --git-files | --git-credentials | --git-ca) _cay_paths "$word" ;;
    *)
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '--store --json --cwd --timeout --env --mode --strict --fuzz --strip --git-files --git-credentials
          --git-ca --git-timeout --keep --max-age --repair --help' -- "$word"))
      else
        _cay_paths "$word"
      fi
      ;;
    esac
    ;;
  guests | doctor) COMPREPLY=($(compgen -W '--json --help' -- "$word")) ;;
  tool)
    case $before in
    tool) COMPREPLY=($(compgen -W 'check run list audit due --help' -- "$word")) ;;
    --config | --dir | --db | --audit) _cay_paths "$word" ;;
    --timeout | --rounds | --user | --json | --entrypoint) ;;
    *)
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '--config --dir --db --audit --user --json --entrypoint --timeout --rounds --dev
          --verify --help' -- "$word"))
      else
        _cay_paths "$word"
      fi
      ;;
    esac
    ;;
  serve)
    case $before in
    --log-level) COMPREPLY=($(compgen -W 'error warn info debug' -- "$word")) ;;
    --line-max) COMPREPLY=($(compgen -W '1M 64M' -- "$word")) ;;
    --grpc) COMPREPLY=($(compgen -W '127.0.0.1:50051 unix:' -- "$word")) ;;
    --language) COMPREPLY=($(compgen -W 'javascript python typescript' -- "$word")) ;;
    --tls-cert | --tls-key | --tls-client-ca | --tokens | --db) _cay_paths "$word" ;;
    *) COMPREPLY=($(compgen -W '--stdio --log-level --line-max --help --grpc --language --module --tls-cert --tls-key --tls-client-ca
      --tokens --db --plaintext --parallel --queue --memory --cpu --code-max --output-max --message-max --connections --streams
      --keep --keep-for --cache-max --drain --idle --ping' -- "$word")) ;;
    esac
    ;;
  help) COMPREPLY=($(compgen -W 'run python js guests doctor serve image notebook snapshot tool ws' -- "$word")) ;;
  esac
}

complete -F _cay cay
