// sqlite is not there: it is refused by name.
'use strict';

throw Object.assign(new Error('the module sqlite is not supported in a sandbox'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
