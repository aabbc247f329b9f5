import { useCallback } from "react";
import { useSearch } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** Changes parameters of the address without a new entry in the history; an empty text removes one. */
export function setParams(changes: Readonly<Record<string, string>>): void {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  navigate(`${location.pathname}${query === "" ? "" : `?${query}`}`, { replace: true });
}

/**
 * A value that is kept in the address, so that it survives a reload, Back and being sent to somebody. The fallback is
 * left out of the address, and stands for a value that is not one of `known`.
 */
export function useParam<T extends string = string>(
  name: string,
  fallback: NoInfer<T>,
  known?: readonly T[],
): [value: T, set: (value: T) => void] {
  const given = new URLSearchParams(useSearch()).get(name) as T | null;
  const value = given === null || known?.includes(given) === false ? fallback : given;
  const set = useCallback((next: T) => setParams({ [name]: next === fallback ? "" : next }), [name, fallback]);
  return [value, set];
}
