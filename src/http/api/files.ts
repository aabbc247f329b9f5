import { createHmac, timingSafeEqual } from "node:crypto";
import { GatewayError, makeCallId } from "../../contract/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import type { HttpDeps } from "../deps.ts";
import { pageHeaders } from "../lifecycle/headers.ts";
import { type HttpCall, readClientAddress, toNetwork } from "../lifecycle/http-call.ts";
import { clientOrigin, parseUrl } from "../lifecycle/origin.ts";
import type { Route } from "../lifecycle/route.ts";
import { withStoreTimeout } from "../lifecycle/store-timeout.ts";
import { ownerOfNetwork } from "../memory/call-memory.ts";
import { SharedFiles } from "../memory/shared-files.ts";
import { ByteBody, responses } from "./openapi.ts";

/** How long a generated file and its URL live. */
const fileLifetimeMs = 3_600_000;

/** Requests of one network in a minute: pages show many images. */
const requestsPerMinute = 600;

interface Clients {
  requestIP(request: Request): { address: string } | null;
}

/**
 * Refuses what would be answered by a file, before it is paid for, where its account stores as much as it may.
 *
 * @throws {GatewayError} `rate_limit_exceeded`
 */
export async function checkFileRoom(deps: HttpDeps, { caller: { accountId } }: HttpCall): Promise<void> {
  const stored = await withStoreTimeout(deps, deps.store.blobs.storedBytes(accountId));
  if (stored < fileBytesMax(deps)) return;
  const message = `The account's images of the last hour take ${stored} bytes, and it may store ${fileBytesMax(deps)}; ask for "response_format": "b64_json", or wait until older ones are deleted`;
  throw new GatewayError("rate_limit_exceeded", message, { param: "response_format", retryAfterMs: 60_000 });
}

/** Stores a file and returns its signed URL, which works without a key until it expires. @throws When there is no room for it. */
export async function storeFile(
  deps: HttpDeps,
  file: { mediaType: string; bytes: Uint8Array },
  { caller: { accountId }, httpRequest }: HttpCall,
): Promise<string> {
  const stored = await deps.store.blobs.storedBytes(accountId);
  if (stored + file.bytes.length > fileBytesMax(deps))
    throw new RangeError(`The account stores ${stored} bytes already`);
  const expiresAt = deps.now() + fileLifetimeMs;
  const id = await deps.store.blobs.put(accountId, { ...file, bytes: new Uint8Array(file.bytes), expiresAt });
  const expires = Math.floor(expiresAt / 1000);
  const path = `${deps.config.basePath}/files/${id}?expires=${expires}&signature=${sign(deps, id, expires)}`;
  return new URL(path, clientOrigin(httpRequest)).href;
}

function fileBytesMax({ config }: HttpDeps): number {
  return config.filesMaxMb * 2 ** 20;
}

/** Creates the state shared by all routes to files: the files in memory, and the rate of each network. */
export function createFileService(deps: HttpDeps) {
  const readAddress = readClientAddress(deps.config.trustedProxies);
  const files = new SharedFiles(deps.store.blobs, deps.memory);
  const requests = new RateLimiter(requestsPerMinute, deps.now, { what: "requests for files from here" });
  return async (id: string, request: Request, server: Clients | null) => {
    const peer = server?.requestIP(request)?.address ?? "unknown";
    const network = toNetwork(readAddress(peer, request.headers.get("x-forwarded-for")));
    requests.take(network);
    return await files.send(id, ownerOfNetwork(network), request);
  };
}

/** GET /files/{id}: authorized by the signature in the URL instead of a key. */
export function filesController(deps: HttpDeps, send: ReturnType<typeof createFileService>): Route[] {
  return [
    {
      method: "GET",
      path: "/files/:id",
      async answer({ request }) {
        const { pathname, searchParams } = parseUrl(request);
        const id = pathname.split("/").at(-1) as string;
        const expires = Number(searchParams.get("expires"));
        const isSigned = matches(sign(deps, id, expires), searchParams.get("signature") ?? "");
        const file = isSigned && expires * 1000 > deps.now() ? await send(id, request, deps.server()) : undefined;
        if (file === undefined) {
          const message = "File not found: its URL is wrong or has expired (files live for an hour)";
          throw new GatewayError("not_found", message);
        }
        const headers = {
          ...pageHeaders(request, "default-src 'none'; frame-ancestors 'none'; sandbox"),
          "content-type": file.mediaType,
          "cache-control": "private, max-age=3600",
          "x-request-id": makeCallId(deps.now()),
        };
        return new Response(file.body, { headers });
      },
      detail: {
        summary: "A generated file, for an hour",
        tags: ["Calls"],
        parameters: ["expires", "signature"].map((name) => ({
          name,
          in: "query" as const,
          required: false,
          description: "As in the URL of the image",
          schema: { type: "string" as const },
        })),
        security: [],
        responses: responses({ "image/*": ByteBody }, [400, 404, 429, 500, 503]),
      },
    },
  ];
}

function sign(deps: HttpDeps, id: string, expires: number): string {
  return createHmac("sha256", deps.signingSecret).update(`${id}.${expires}`).digest("base64url");
}

function matches(expected: string, actual: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(actual)];
  return a.length === b.length && timingSafeEqual(a, b);
}
