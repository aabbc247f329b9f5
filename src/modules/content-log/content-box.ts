import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { NewContent, Store } from "../../db/index.ts";
import { hasSecrets, type SecretBox } from "../../providers/index.ts";
import type { ContentTurn } from "./read-content.ts";

/** Content of a request and of its answer. */
export interface Content {
  readonly request: readonly ContentTurn[];
  readonly answer: readonly ContentTurn[];
}

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Encrypts the content of a call for its account and id, by the key of stored secrets, which no database has. */
export async function sealContent(
  { box, store }: { box: SecretBox; store: Pick<Store, "db"> },
  { id, accountId, at }: Pick<NewContent, "id" | "accountId" | "at">,
  content: Content,
): Promise<NewContent> {
  const bytes = await compress(JSON.stringify(content));
  const isNew = box.id === undefined && !(await hasSecrets(store.db));
  const { secret, secretsId } = box.seal(ownerOf(accountId, id), bytes, isNew);
  return { id, accountId, at, body: secret, secretsId };
}

/** `undefined` when another key encrypted it. */
export async function openContent(
  box: SecretBox,
  { id, accountId, secretsId, body }: NewContent,
): Promise<Content | undefined> {
  const bytes = box.openBytes(ownerOf(accountId, id), secretsId, body);
  return bytes && (JSON.parse((await decompress(bytes)).toString()) as Content);
}

function ownerOf(accountId: string, id: string): string {
  return JSON.stringify(["content", accountId, id]);
}
