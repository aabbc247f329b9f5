import { afterAll, beforeAll } from "bun:test";
import { openCliStore, type TransactionScope } from "./books.ts";
import { fillWallet, type Gateway, hookMsMax, startGateway } from "./gateway.ts";

/** A gateway in sandbox mode for the tests of one file, with a full wallet and a look into its ledger. */
export interface SandboxGateway {
  gateway: Gateway;
  books: TransactionScope;
}

/** Starts one before the tests of the calling file and ends it after them; its members are there once tests run. */
export function useSandboxGateway(env: Record<string, string> = {}): SandboxGateway {
  const shared = {} as SandboxGateway;
  beforeAll(async () => {
    shared.gateway = await startGateway({ env });
    await fillWallet(shared.gateway);
    shared.books = openCliStore(shared.gateway.home);
  }, hookMsMax);
  afterAll(async () => {
    shared.books?.close();
    await shared.gateway?.stop();
  }, hookMsMax);
  return shared;
}
