import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import { shapeChecker } from "../../lib/check-shape.ts";

/** A price file that others write: rows by plugin, as in the operator's own catalogue files. */
const SignedCatalogue = Type.Object(
  {
    serial: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "Higher in every new version" }),
    plugins: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Rows by plugin, such as { "openai": { "models": [ … ] } }',
    }),
    signature: Type.Optional(Type.String({ description: "Ed25519, base64; catalogue sign writes it" })),
  },
  { additionalProperties: false },
);
export type SignedCatalogue = Static<typeof SignedCatalogue>;

const findError = shapeChecker(SignedCatalogue);

/** @throws {Error} With the place and the reason; the text is worded to follow the file's name. */
export function checkCatalogue(value: unknown): SignedCatalogue {
  const error = findError(value);
  if (error === undefined) return value as SignedCatalogue;
  throw new Error(`${error.path.replace(/^\./, "") || "the file"}: ${error.reason}`);
}

/** @param privateKey PEM. @returns The file with its signature, and the public key as `CATALOGUE_PUBLIC_KEY` takes it. */
export function signCatalogue(catalogue: SignedCatalogue, privateKey: string) {
  const key = readPrivateKey(privateKey);
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`it is a ${key.asymmetricKeyType} key, expected Ed25519`);
  const signature = sign(null, toBytes(catalogue), key).toString("base64");
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64");
  return { signed: { ...catalogue, signature }, publicKey };
}

function readPrivateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    const cure = "create one with openssl genpkey -algorithm ed25519";
    throw new Error(`it is not a private key, expected an Ed25519 key in PEM without a password; ${cure}`, { cause });
  }
}

/** Whether the owner of the key signed exactly this. */
export function isSigned(catalogue: SignedCatalogue, publicKey: string): boolean {
  const key: KeyObject = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
  const signature = Buffer.from(catalogue.signature ?? "", "base64");
  return verify(null, toBytes(catalogue), key, signature);
}

/** The signature does not depend on the layout of the file. */
function toBytes({ signature: _, ...content }: SignedCatalogue): Buffer {
  return Buffer.from(JSON.stringify(content));
}
