// inspector/promises is not there: it is refused by name.
'use strict';

throw Object.assign(new Error('the module inspector/promises is not supported in a sandbox'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
