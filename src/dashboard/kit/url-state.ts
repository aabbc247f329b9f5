import { useCallback } from "react";
import { useSearch } from "wouter";
import { navigate } from "wouter/use-browser-location";
import { withoutSecrets } from "../data/secrets.ts";

/**
 * The address of a page has all that is chosen on it, so the choice survives a reload, Back and being sent to another
 * person. Only this file reads and writes the parameters of the address. It cuts a pasted secret before the secret gets
 * there.
 */

/** Changes parameters of the address; an empty text removes one. */
export type ChangeParams = (changes: Readonly<Record<string, string>>) => void;

/** Without a new entry in the history. */
export const setParams: ChangeParams = (changes) => {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") params.delete(name);
    else params.set(name, withoutSecrets(value));
  }
  replaceParams(params.toString());
};

/** Removes all parameters. */
export function clearParams(): void {
  replaceParams("");
}

/** Replaces all parameters by the parameters of a query string without its `?`. */
export function replaceParams(search: string): void {
  navigate(`${location.pathname}${search === "" ? "" : `?${withoutSecrets(search)}`}`, { replace: true });
}

/** Cuts the secrets of an address that was opened with some. Called once, when the page starts. */
export function cutSecretsOfAddress(): void {
  const search = withoutSecrets(location.search);
  if (search !== location.search)
    history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}

/** The parameters of the address. */
export function useUrlParams(): URLSearchParams {
  return new URLSearchParams(useSearch());
}

/** One text of the address. The fallback is left out of it; another text begins a list at its first page again. */
export function useParam(name: string, fallback = ""): [value: string, set: (value: string) => void] {
  const value = useUrlParams().get(name) ?? fallback;
  const set = useCallback(
    (next: string) => setParams({ page: "", [name]: next === fallback ? "" : next }),
    [name, fallback],
  );
  return [value, set];
}

/**
 * Chosen option of a control. The first option is left out of the address, and replaces any value that is not an
 * option.
 */
export function useChoice<T extends string>(
  name: string,
  options: readonly (readonly [value: T, ...unknown[]])[],
): [value: T, set: (value: T) => void] {
  const first = options[0]?.[0] as T;
  const [param, set] = useParam(name, first);
  return [options.find(([value]) => value === param)?.[0] ?? first, set];
}

/** The page of a list, from 1, as `page` of the address. */
export function usePageNumber(): [page: number, toPage: (page: number) => void] {
  const [text] = useParam("page", "1");
  const page = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1;
  return [page, (next) => setParams({ page: next === 1 ? "" : String(next) })];
}
