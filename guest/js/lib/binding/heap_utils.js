'use strict';
return {};
