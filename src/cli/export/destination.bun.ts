import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { trimSlashes } from "../../contract/index.ts";
import { UsageError } from "../command.ts";

/** Where an export goes: a folder, or a bucket with a prefix. A file that is there is written over. */
export interface Destination {
  /** `undefined` when there is no such file. */
  read(name: string): Promise<string | undefined>;
  write(name: string, content: string | Uint8Array<ArrayBuffer>): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens a folder, or `s3://bucket/prefix` with the credentials of AWS' own variables. `AWS_ENDPOINT_URL` names another server
 * that speaks S3.
 *
 * @throws {UsageError} When credentials are missing.
 */
export function openDestination(target: string, env: Environment): Destination {
  const [, bucket, path = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(target) ?? [];
  if (bucket === undefined) {
    if (target.startsWith("s3:")) throw new UsageError(`${target} is not a bucket, expected s3://bucket/prefix`);
    return openFolder(target);
  }
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new UsageError("There are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  const endpoint = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  const client = new Bun.S3Client({
    accessKeyId,
    secretAccessKey,
    bucket,
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1",
    ...(token && { sessionToken: token }),
    ...(endpoint && { endpoint }),
  });
  const keyOf = (name: string) => (path === "" ? name : `${trimSlashes(path)}/${name}`);
  return {
    async read(name) {
      try {
        return await client.file(keyOf(name)).text();
      } catch (error) {
        if ((error as { code?: string }).code === "NoSuchKey") return undefined;
        throw error;
      }
    },
    write: async (name, content) => void (await client.write(keyOf(name), content)),
  };
}

/** Opens a folder as a destination. Files are renamed into place, so a reader sees a whole file or no file. */
function openFolder(folder: string): Destination {
  return {
    async read(name) {
      try {
        return readFileSync(join(folder, name), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async write(name, content) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(`${file}.part`, content, { flush: true });
      renameSync(`${file}.part`, file);
    },
  };
}
