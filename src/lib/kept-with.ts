const values = new WeakMap<object, Map<unknown, unknown>>();

/**
 * Returns the value made for an object under this name, for as long as the object is in use: the tokens of a
 * credential, for example.
 */
export function keepWith<Value>(owner: object, name: unknown, make: () => Value): Value {
  let byName = values.get(owner);
  if (byName === undefined) {
    byName = new Map();
    values.set(owner, byName);
  }
  if (!byName.has(name)) byName.set(name, make());
  return byName.get(name) as Value;
}

/** Forgets all that is kept with an object. */
export function forgetKept(owner: object): void {
  values.delete(owner);
}
