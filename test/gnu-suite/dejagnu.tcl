# dejagnu.tcl - runs one file of the tests that findutils has for DejaGnu: the few procedures of DejaGnu that they use.
#
#   tclsh dejagnu.tcl find|xargs PROGRAM TESTSUITE FILE.exp
#
# Prints `PASS: NAME`, `FAIL: NAME, WHY` and the like, as DejaGnu does.
lassign $argv tool program testsuite file

set verbose 0
set base_dir [pwd]
set srcdir $testsuite
set subdir [file dirname $file]
set expected_to_fail 0

proc verbose args {}
proc send_log args {}
proc send_user args {}
proc clone_output args {}
proc warning text { puts "WARNING: $text" }
proc transform name { return $name }
proc which name { return [file exists $name] }
proc findfile args { return $::program }
proc setup_xfail args { set ::expected_to_fail 1 }
proc clear_xfail args { set ::expected_to_fail 0 }
proc verdict { good bad name } {
  puts "[expr {$::expected_to_fail ? $bad : $good}]: $name"
  set ::expected_to_fail 0
}
proc pass name { verdict PASS XPASS $name }
proc fail name { verdict FAIL XFAIL $name }
proc untested name { puts "UNTESTED: $name" }
proc unsupported name { puts "UNSUPPORTED: $name" }
proc unresolved name { puts "UNRESOLVED: $name" }

# What the settings look for beside the tests.
set FTSFIND $program
set XARGS $program
proc load_settings path {
  set text [read [set in [open $path]]]
  close $in
  # That the program stands in the build tree has been seen to.
  regsub {set objfile "xargs.o".*?global XARGSFLAGS} $text {global XARGSFLAGS} text
  uplevel #0 $text
}
load_settings $testsuite/config/unix.exp
if {[catch { source $testsuite/$file } why]} { puts "ERROR: [file tail $file], $why" }
