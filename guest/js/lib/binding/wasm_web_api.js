'use strict';
return { setImplementation: host.noop };
