'use strict';
return { isDebugBuild: false, hasOpenSSL: true, openSSLIsBoringSSL: false, fipsMode: false, hasIntl: false, hasSmallICU: false,
  hasTracing: false, hasNodeOptions: true, noBrowserGlobals: false, hasInspector: false, bits: 32, hasDtrace: false,
  getDefaultLocale: () => 'en-US' };
