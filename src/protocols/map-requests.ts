import type { Call, Handlers, Model, Upstream, UpstreamRequestOptions } from "../provider/index.ts";

/** Where a request of a dialect goes instead, what it says there, and headers that it has there. A form is not looked into. */
export type RequestMap = (
  request: MappedRequest,
) => Pick<MappedRequest, "path" | "body"> & { readonly headers?: Readonly<Record<string, string>> };

/** A request as its dialect sends it. */
export interface MappedRequest {
  readonly path: string;
  readonly body: unknown;
  readonly model: Model;
  /** Where the path begins. */
  readonly baseUrl: string;
}

/**
 * Changes the requests of a dialect's handlers, for a provider with other paths, or with further fields.
 *
 * @example
 * const handlers = openai({ chat: {} });
 * const moved = mapRequests(handlers, ({ path, body }) => ({ path: `/v2${path}`, body }));
 * Object.keys(moved); // => ["chat"]
 */
export function mapRequests<Mapped extends Handlers>(handlers: Mapped, map: RequestMap): Mapped {
  const entries = Object.entries(handlers).map(([name, handler]) => [name, mapHandler(handler as Handler, map)]);
  return Object.fromEntries(entries) as Mapped;
}

type Handler = (call: Call<unknown>) => Promise<unknown>;

/** One handler likewise, with what else it has, such as `omits`. */
function mapHandler(handler: Handler, map: RequestMap): Handler {
  const mapped: Handler = (call) => handler({ ...call, upstream: mapUpstream(call.upstream, call.model, map) });
  return Object.assign(mapped, { ...handler });
}

function mapUpstream(upstream: Upstream, model: Model, map: RequestMap): Upstream {
  const to = (path: string, body: unknown, init: UpstreamRequestOptions | undefined) => {
    const { headers, ...mapped } = map({ path, body, model, baseUrl: upstream.baseUrl });
    return { ...mapped, init: headers === undefined ? init : { ...init, headers: { ...init?.headers, ...headers } } };
  };
  return {
    baseUrl: upstream.baseUrl,
    json(path, body, init) {
      const mapped = to(path, body, init);
      return upstream.json(mapped.path, mapped.body, mapped.init);
    },
    form(path, form, init) {
      const mapped = to(path, form, init);
      return upstream.form(mapped.path, form, mapped.init);
    },
    bytes(path, body, init) {
      const mapped = to(path, body, init);
      return upstream.bytes(mapped.path, mapped.body, mapped.init);
    },
    events(path, body, init) {
      const mapped = to(path, body, init);
      return upstream.events(mapped.path, mapped.body, mapped.init);
    },
    webSocket(path, options) {
      const { headers, ...mapped } = map({ path, body: undefined, model, baseUrl: upstream.baseUrl });
      return upstream.webSocket(mapped.path, { ...options, headers: { ...options?.headers, ...headers } });
    },
    download: (url) => upstream.download(url),
  };
}
