import { audioFileBytesMax, GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { authenticate, type RouteContext } from "./handle-call.ts";
import { type BodyReservation, boundedChunks, declaredBytes } from "./read-body.ts";

/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;

/** The `parse` of a route with a multipart form, which `toBody` turns into the body. */
export function readFormCall<Body>(deps: HttpDeps, toBody: (form: FormData) => Body) {
  return async (context: RouteContext): Promise<Body> => {
    const call = await authenticate(deps, context.request, context.server);
    context.call = call;
    call.body = deps.bodies.reserve(declaredBytes(context.request, formBytesMax));
    return toBody(await readForm(context.request, call.body));
  };
}

/** Reads a body as multipart/form-data. @throws {GatewayError} `payload_too_large`, `unavailable` or `invalid_request`. */
async function readForm(request: Request, reservation?: BodyReservation): Promise<FormData> {
  const contentType = request.headers.get("content-type");
  if (contentType === null || !contentType.toLowerCase().startsWith("multipart/form-data")) {
    const sentence = "The body is not multipart/form-data, which is how a file is sent here";
    throw new GatewayError("invalid_request", sentence);
  }
  try {
    if (request.headers.has("content-length")) return await request.formData();
    const chunks = await Array.fromAsync(boundedChunks(request, formBytesMax, reservation));
    return await new Response(new Blob(chunks), { headers: { "content-type": contentType } }).formData();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause });
  }
}
