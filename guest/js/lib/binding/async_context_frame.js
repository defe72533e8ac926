'use strict';
return { getContinuationPreservedEmbedderData: native.getFrame, setContinuationPreservedEmbedderData: native.setFrame };
