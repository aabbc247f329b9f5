import { type Caller, GatewayError, isAccessToken, makeCallId } from "../../contract/index.ts";
import { isToken } from "../../identity/index.ts";
import { RefusedKeyError } from "../../keys/index.ts";
import type { Clients, HttpDeps, Sockets } from "../deps.ts";
import { CallMemory } from "../memory/call-memory.ts";
import { callerOriginOf, clientAddressOf, type Endpoint, HttpCall, ownerOfClient } from "./http-call.ts";

/**
 * Step 1: identifies the caller by the API key, before any of the body is read. A known key needs no wait. Step 2:
 * takes a slot, which counts toward the share of the account. While a key is looked up, a slot of the client's network
 * is used.
 *
 * @throws {GatewayError} `unavailable` or `rate_limit_exceeded` when there is no slot for it, or `invalid_api_key`.
 */
export function authenticate(
  deps: HttpDeps,
  request: Request,
  server: Sockets | null,
  { inbound, capability }: Endpoint = {},
): HttpCall | Promise<HttpCall> {
  const { loadShedder } = deps;
  const [openedAt, startedMs] = [deps.now(), deps.kernel.now()];
  loadShedder.expectOpen();
  const key = readApiKey(request);
  const open = (caller: Caller) => {
    if (caller.allowedNetworks !== undefined) checkNetwork(deps, caller, request, server);
    deps.keyCallers?.note(caller.keyId, callerOriginOf(deps.config, request, server), openedAt);
    const slot = loadShedder.takeSlot(caller.accountId);
    const id = makeCallId(openedAt);
    const memory = new CallMemory(deps.memory, caller.accountId);
    const onEnd = () => loadShedder.endRequest(slot);
    const options = { slot, memory, isProgram: isAccessToken(key), inbound, capability, server, onEnd };
    return new HttpCall({ id, openedAt, startedMs, caller }, request, options);
  };
  const caller = deps.accounts.authenticate(key);
  if (!(caller instanceof Promise)) return open(caller);
  const guest = loadShedder.takeSlot(ownerOfClient(deps.config, request, server));
  return caller.then(open).finally(() => loadShedder.endRequest(guest));
}

/** @throws {RefusedKeyError} for a key that may not be used from where the request comes from. */
function checkNetwork({ config }: HttpDeps, caller: Caller, request: Request, server: Clients | null): void {
  const address = clientAddressOf(config, request, server);
  if (caller.allowedNetworks?.has(address) !== false) return;
  throw new RefusedKeyError(
    `Incorrect API key provided: ${caller.keyId} is not allowed from the address ${address}`,
    caller,
  );
}

/** API keys are shorter. The limit also bounds the text that is logged with a refusal. */
const keyLengthMax = 512;
/** Tokens (JWT) with groups and the like have two or three thousand. */
const tokenLengthMax = 16_384;

/**
 * Reads the key of `Authorization: Bearer …`, or of `x-api-key`.
 *
 * @throws {GatewayError} `invalid_api_key` when the header is missing or malformed.
 */
export function readApiKey(request: Request): string {
  const header = request.headers.get("authorization");
  const plain = header === null ? request.headers.get("x-api-key") : null;
  if (plain !== null && plain.length <= getLengthMax(plain)) return plain.trim();
  if (header === null) {
    const message = "No API key was sent: put it in the header 'Authorization: Bearer sk-mg-…'";
    throw new GatewayError("invalid_api_key", message);
  }
  if (header.length > getLengthMax(header.slice(7)) || header.slice(0, 7).toLowerCase() !== "bearer ") {
    throw new GatewayError("invalid_api_key", "Malformed Authorization header: expected 'Bearer <API key>'");
  }
  return header.slice(7).trim();
}

function getLengthMax(bearer: string): number {
  return isToken(bearer) ? tokenLengthMax : keyLengthMax;
}
