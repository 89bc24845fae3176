// Ids of checkpoints as aliases, whose order is that of ids within a namespace.
//
//   namespace ""      ID
//   others            !NAMESPACE/ID
//
// `!` sorts before letters and digits: the greatest alias of a task is the newest checkpoint of the
// root namespace.

/** Returns the alias of a checkpoint. */
export function aliasOf(namespace: string, id: string): string {
  const isPlain = namespace === "" && id > "\"";
  return isPlain ? id : `${prefixOf(namespace)}${id}`;
}

/** Returns namespace and id of an alias; `undefined` if it belongs to another program. */
export function idIn(alias: string): { namespace: string; id: string } | undefined {
  if (!alias.startsWith("!")) {
    return { namespace: "", id: alias };
  }
  const end = alias.indexOf("/");
  if (end < 0) {
    return undefined;
  }
  const namespace = alias.slice(1, end).replaceAll("%2F", "/").replaceAll("%25", "%");
  return { namespace, id: alias.slice(end + 1) };
}

/** Returns the text that all aliases of a namespace sort before; `undefined` if they are the last. */
export function topOf(namespace: string): string | undefined {
  return namespace === "" ? undefined : `${prefixOf(namespace)}\u{10ffff}`;
}

function prefixOf(namespace: string): string {
  return `!${namespace.replaceAll("%", "%25").replaceAll("/", "%2F")}/`;
}
