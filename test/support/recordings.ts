import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../../shared/recordings");

/** Why tests over recordings cannot run here; absent when they can. */
export const recordingsMissing = existsSync(join(root, "index.json"))
  ? undefined
  : "No recordings: expected ../shared/recordings/index.json beside the project";

/** A request as its recorder kept it; a multipart body is a list of parts under `__multipart__`. */
export interface RecordedRequest {
  method: string;
  url: string;
  body?: Record<string, unknown> | null;
}

/** One recorded answer of a provider, with the request it answered where the recorder kept that. */
export interface Recording {
  /** Below the recordings' folder, such as `groq/errors/404-model-not-found.json`; also its name in tests. */
  path: string;
  provider: string;
  capability: string;
  /** `recorded`, `fixture`, `quoted`, `composed` or `shape`, from the truest to the least true. */
  kind: string;
  request: RecordedRequest | undefined;
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
}

interface IndexRow {
  path: string;
  meta: string;
}

interface Meta {
  kind: string;
  provider: string;
  capability: string;
  request?: RecordedRequest | null;
  response: { status: number; headers: Record<string, string> };
}

/** The recordings of the named providers in the order of the index; none when there are no recordings here. */
export function recordingsOf(...providers: string[]): Recording[] {
  if (recordingsMissing !== undefined) return [];
  const index = JSON.parse(readFileSync(join(root, "index.json"), "utf8")) as IndexRow[];
  return index.filter((row) => providers.includes(row.path.split("/")[0] as string)).map(read);
}

/** One recording by its path, to be asked only where `recordingsMissing` is absent. */
export function recordingAt(path: string): Recording {
  return read({ path, meta: path.replace(/\.(json|sse|chunks\.txt|txt|vtt|mp3)$/, ".meta.json") });
}

function read(row: IndexRow): Recording {
  const meta = JSON.parse(readFileSync(join(root, row.meta), "utf8")) as Meta;
  const request = meta.request ?? undefined;
  return {
    path: row.path,
    provider: meta.provider,
    capability: meta.capability,
    kind: meta.kind,
    request: request?.url === undefined ? undefined : request,
    status: meta.response.status,
    headers: meta.response.headers,
    body: new Uint8Array(readFileSync(join(root, row.path))),
  };
}
