'use strict';
const { loop, systemError } = host;

class DirHandle extends host.AsyncWrap {
  constructor(list) {
    super('DIRHANDLE');
    this.list = list;
  }
  read(encoding, size, request) {
    const part = this.list.splice(0, 2 * size);
    const result = part.length === 0 ? null : part.map((item, i) => (i % 2 ? item : nameIn(item, encoding)));
    if (request === undefined) return result;
    host.begin(request);
    loop.later(() => host.complete(request, null, result));
    return undefined;
  }
  close(request) {
    if (request === undefined) return;
    host.begin(request);
    loop.later(() => host.complete(request, null));
  }
}

const nameIn = (bytes, encoding) => (encoding === 'buffer' ? host.toBuffer(bytes) : native.decode(host.encodingNumber(encoding), bytes));

function opendir(path, encoding, request) {
  const list = native.readdir(path);
  const error = typeof list === 'number' ? systemError(list, 'opendir', typeof path === 'string' ? path : native.decode(1, path)) : undefined;
  if (request === undefined) {
    if (error) throw error;
    return new DirHandle(list);
  }
  host.begin(request);
  loop.later(() => (error ? host.complete(request, error) : host.complete(request, null, new DirHandle(list))));
  return undefined;
}

return { opendir, opendirSync: (path) => opendir(path, 'utf8', undefined), DirHandle };
