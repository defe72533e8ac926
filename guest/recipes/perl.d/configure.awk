# configure.awk - a config.sh of Perl from another one: awk -v extensions=... -v left_out=... -f configure.awk SETTINGS CONFIG.SH
# SETTINGS has a name and its value in a line. `extensions` are linked into the program; modules of `left_out` are not built.

function quoted(value) { return "'" value "'" }

function without(list, names,    count, part, gone, kept, i) {
  count = split(names, part)
  for (i = 1; i <= count; i++) gone[part[i]] = 1
  count = split(list, part)
  for (i = 1; i <= count; i++) if (!(part[i] in gone)) kept = kept " " part[i]
  return kept " "
}

function value_of(line) { sub(/^[^=]*='/, "", line); sub(/'$/, "", line); return line }

NR == FNR {
  if ($0 !~ /^[a-zA-Z]/) next
  name = $1
  sub(/^[^ ]+ ?/, "")
  settings[name] = $0
  next
}

/^config_arg[0-9]/ { next }
/^nonxs_ext=/ { scripts = without(value_of($0), left_out); print "nonxs_ext=" quoted(scripts); next }
/^static_ext=/ { print "static_ext=" quoted(" " extensions " "); next }
/^(dynamic_ext|extensions)=/ { next }

match($0, /^[a-zA-Z_0-9]+=/) {
  name = substr($0, 1, RLENGTH - 1)
  seen[name] = 1
  if (name in settings) $0 = name "=" quoted(settings[name])
}

{ print }

END {
  print "dynamic_ext=' '"
  print "extensions=" quoted(extensions scripts)
  for (name in settings) if (!(name in seen)) { print "no setting of Perl: " name >"/dev/stderr"; exit 1 }
}
