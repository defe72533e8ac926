'use strict';
const { noop } = host;
return { trace: noop, isTraceCategoryEnabled: () => false, setTraceCategoryStateUpdateHandler: noop,
  getCategoryEnabledBuffer: () => new Uint8Array(1), getEnabledCategories: noop, available: false };
