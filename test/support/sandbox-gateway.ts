import { afterAll, beforeAll } from "bun:test";
import { type Gateway, startGateway } from "./gateway.ts";
import { type LedgerView, openCliStore } from "./ledger-view.ts";

/** A gateway in sandbox mode for the tests of one file, with a full wallet and a look into its ledger. */
export interface SandboxGateway {
  gateway: Gateway;
  ledger: LedgerView;
}

/** Starts one before the tests of the calling file and ends it after them; its members are there once tests run. */
export function useSandboxGateway(env: Record<string, string> = {}): SandboxGateway {
  const shared = {} as SandboxGateway;
  beforeAll(async () => {
    shared.gateway = await startGateway({ env, isFunded: true });
    shared.ledger = openCliStore(shared.gateway.home);
  });
  afterAll(async () => {
    shared.ledger?.close();
    await shared.gateway?.stop();
  });
  return shared;
}
