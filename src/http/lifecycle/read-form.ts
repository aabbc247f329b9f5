import { Buffer } from "node:buffer";
import { audioFileBytesMax, type Capability, GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { countedBytesMin, type MemoryReservation } from "../memory/memory-accountant.ts";
import { authenticate } from "./handle-call.ts";
import type { Endpoint, RouteContext } from "./http-call.ts";
import { declaredBytes, readBytes, refuseEncoding } from "./read-body.ts";
import { resolveModels } from "./resolve-models.ts";

/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;

/** An endpoint with a multipart form. */
interface FormEndpoint<Body> extends Endpoint {
  readonly capability: Capability;
  toBody(form: FormData): Body;
}

/** The `parse` of a route with a multipart form. */
export function readFormCall<Body>(deps: HttpDeps, endpoint: FormEndpoint<Body>) {
  return async (context: RouteContext): Promise<Body> => {
    const call = await authenticate(deps, context.request, context.server, endpoint);
    context.call = call;
    deps.ledger.checkRequests(call.caller);
    declaredBytes(context.request, formBytesMax);
    const body = endpoint.toBody(await readForm(context.request, call.memory.request));
    resolveModels(deps, call, body, endpoint.modelDefault);
    return body;
  };
}

/** The most fields of a form: each takes as long as 100 bytes of a file, and 26 MB have room for 400 000. */
const fieldsMax = 1000;

/** Reads a body as multipart/form-data. @throws {GatewayError} As {@link readBytes}. */
async function readForm(request: Request, reservation: MemoryReservation): Promise<FormData> {
  refuseEncoding(request);
  const contentType = request.headers.get("content-type");
  if (contentType === null || !contentType.toLowerCase().startsWith("multipart/form-data")) {
    const sentence = "The body is not multipart/form-data, which is how a file is sent here";
    throw new GatewayError("invalid_request", sentence);
  }
  try {
    const read = await readBytes(request, formBytesMax, reservation);
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
    checkFields(bytes);
    const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
    // What arrived is a file by now.
    if (bytes.length >= countedBytesMin) reservation.shrink(bytes.length);
    return form;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause });
  }
}

/** Counts what may be the boundary before a field, which no other place of a file of sound has often. */
function checkFields(bytes: Buffer): void {
  let fields = 0;
  for (let at = bytes.indexOf("\r\n--"); at !== -1; at = bytes.indexOf("\r\n--", at + 4)) {
    if (++fields > fieldsMax) throw new GatewayError("invalid_request", `The form has more than ${fieldsMax} fields`);
  }
}
