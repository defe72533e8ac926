'use strict';
return { has: () => true };
