import { useState } from "react";
import { api, request } from "../../data/api.ts";
import { readItem, writeItem } from "../../kit/storage.ts";

/** The address of a program that asks to be signed in; the tab keeps it over a sign-in that leaves the page. */
export interface ProgramRequest {
  readonly page: "device" | "authorize";
  readonly params: URLSearchParams;
}

const itemName = "modelgate-program";
const pages = { "/device": "device", "/authorize": "authorize" } as const;

/** The request in the address of this page, or in the address that the tab was opened with. */
export function useProgramRequest(): [asked: ProgramRequest | undefined, dismiss: () => void] {
  const [asked, setAsked] = useState(takeRequest);
  const dismiss = () => {
    forgetProgramRequest();
    history.replaceState(null, "", "/");
    setAsked(undefined);
  };
  return [asked, dismiss];
}

/** Once it is answered: a reload must not ask again. */
export function forgetProgramRequest(): void {
  writeItem(itemName, null, "sessionStorage");
}

function takeRequest(): ProgramRequest | undefined {
  if (location.pathname in pages) writeItem(itemName, `${location.pathname}${location.search}`, "sessionStorage");
  const url = URL.parse(readItem(itemName, "sessionStorage") ?? "", location.origin);
  const page = url === null ? undefined : pages[url.pathname as keyof typeof pages];
  return url === null || page === undefined ? undefined : { page, params: url.searchParams };
}

const { programs } = api;

export const findDevice = (user_code: string) => request(programs.device.post({ user_code }));
export const approveDevice = (user_code: string, account: string) =>
  request(programs.device.approve.post({ user_code, account }));
export const denyDevice = (user_code: string) => request(programs.device.deny.post({ user_code }));

/** The parameters of an authorization request that the gateway checks. */
export interface Authorization {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly code_challenge: string;
}

export const checkAuthorization = (authorization: Authorization) => request(programs.authorize.post(authorization));
export const approveAuthorization = (authorization: Authorization, account: string) =>
  request(programs.authorize.approve.post({ ...authorization, account }));
