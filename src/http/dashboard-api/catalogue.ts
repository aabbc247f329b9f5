import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { recordAudit } from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { inTransaction } from "../../db/index.ts";
import { describeRoutes } from "../../kernel/index.ts";
import { parseJson } from "../../providers/index.ts";
import { PluginError } from "../../sdk/errors.ts";
import type { HttpDeps } from "../deps.ts";
import { checkJsonBounds, declaredBytes, readChunks, toWellFormedJson } from "../lifecycle/read-body.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";

/** The largest catalogue that is taken, in bytes: several thousand rows. */
const catalogueBytesMax = 4 * 1024 * 1024;
/** How much of what changed the audit log keeps, in characters. */
const changesMax = 4000;

const CatalogueBody = formBody({
  /** Revision of the document that was edited, as in the header If-Match. */
  revision: Type.Optional(Type.String({ maxLength: 100 })),
  files: Type.Record(Type.String(), Type.Unknown()),
});

/** Models as administrators see and change them: where each field comes from, and the operator's files as one document. */
export function catalogueController(deps: HttpDeps) {
  const { kernel, snapshot, store } = deps;
  return new Elysia({ prefix: "/admin/catalogue" })
    .use(withAdminSession(deps, readCatalogueBody))
    .get("", () => ({
      data: deps.catalogue.layers().map(({ base, signed, own, ownFiles, ...layers }) => {
        const modelEntry = kernel.registry.byName(layers.id);
        return {
          ...layers,
          base: base ?? null,
          signed: signed ?? null,
          own: own ?? null,
          own_files: ownFiles,
          routes: modelEntry?.model.id === layers.id ? describeRoutes(modelEntry, kernel.now()) : [],
        };
      }),
      plugins: snapshot().plugins.map(({ name }) => name),
      /** Prices and limits of a provider's models without a row; the models are in `data` once they are found. */
      unlisted: snapshot().plugins.flatMap(({ name, unlisted }) =>
        unlisted ? [{ plugin: name, terms: unlisted }] : [],
      ),
      warnings: snapshot().warnings,
      /** Whether other gateways may use the same database: each reads the files of its own home. */
      shared: store.shared,
    }))
    .get("/files", ({ set }) => {
      const catalogue = readCatalogue(deps);
      set.headers.etag = `"${catalogue.revision}"`;
      return catalogue;
    })
    .put(
      "/files",
      async ({ admin, body: { files, revision }, headers, set }) => {
        const expected = readRevision(headers["if-match"]) ?? revision;
        if (expected === undefined) {
          const message =
            "Send the revision that you edited, in If-Match or as `revision`, or If-Match: * to overwrite";
          throw new GatewayError("invalid_request", message, { param: "revision" });
        }
        const change = changeCatalogue(deps, files);
        const written = await change.write(admin.accountId, expected);
        set.headers.etag = `"${written}"`;
        return { revision: written, files: change.files, changes: change.models };
      },
      { body: CatalogueBody },
    );
}

/** The operator's files with their revision. @throws {GatewayError} `invalid_request` when one cannot be read. */
export function readCatalogue(deps: HttpDeps) {
  return refusing(() => deps.catalogue.read());
}

/**
 * Checks a whole document of files, and writes it once it is told to: with an audit entry, and in force when it returns the new revision.
 *
 * @throws {GatewayError} `invalid_request` for the files; `write` throws `conflict` when they are not of the expected revision any more.
 */
export function changeCatalogue(deps: HttpDeps, files: Readonly<Record<string, unknown>>) {
  const change = refusing(() => deps.catalogue.check(files));
  const write = async (by: string, expected: string): Promise<string> => {
    await inTransaction(deps.store, async (scope) => {
      const detail = { files: change.files.join(", "), changes: shorten(change.models) };
      const entry = { accountId: by, action: "catalogue.change", subject: "catalogue", detail };
      if (change.files.length > 0) await recordAudit(scope, entry, deps.now());
      // Nothing can come between the check and the files.
      if (expected !== "*" && expected !== readCatalogue(deps).revision) throw overtaken();
      refusing(() => change.write());
    });
    await deps.catalogue.reload();
    return deps.catalogue.read().revision;
  };
  return { files: change.files, models: change.models, write };
}

/** @throws {GatewayError} `payload_too_large`, or `invalid_request` with the line and column. */
export async function readCatalogueBody(request: Request): Promise<unknown> {
  declaredBytes(request, catalogueBytesMax);
  const text = await readChunks(request, catalogueBytesMax);
  checkJsonBounds(text);
  return text === "" ? null : refusing(() => parseJson(toWellFormedJson(text)), "Cannot read the body as JSON: ");
}

function readRevision(header: string | undefined): string | undefined {
  return header?.replace(/^W\//, "").replace(/^"(.*)"$/, "$1");
}

/** An error in the files is an error of the request. */
function refusing<T>(work: () => T, before = ""): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    throw new GatewayError("invalid_request", `${before}${error.message}`, { param: "files", cause: error });
  }
}

function overtaken(): GatewayError {
  const message = "The catalogue has changed since you read it: read it again and repeat your change";
  return new GatewayError("conflict", message, { param: "revision" });
}

function shorten(lines: readonly string[]): string {
  const text = lines.join("\n");
  return text.length <= changesMax ? text : `${text.slice(0, changesMax)}… (${lines.length} models in all)`;
}
