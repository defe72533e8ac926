'use strict';
// The settings of diagnostic reports are kept; there are no reports.
const settings = { Compact: false, ExcludeNetwork: false, ExcludeEnv: false, Filename: '', Directory: '', Signal: 'SIGUSR2', ReportOnFatalError: false,
  ReportOnSignal: false, ReportOnUncaughtException: false };
const made = {};
for (const name of Object.keys(settings)) {
  made[`set${name}`] = (value) => { settings[name] = value; };
  made[name.startsWith('ReportOn') ? `should${name}` : `get${name}`] = () => settings[name];
}
return made;
