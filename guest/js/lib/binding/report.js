'use strict';
return { shouldReportOnUncaughtException: () => false };
