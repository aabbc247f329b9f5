import { recordAct } from "../../audit/index.ts";
import type { Config } from "../../config/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { type Contents, createContents, type Store } from "../../db/index.ts";
import type { Log } from "../../kernel/index.ts";
import { SecretBox } from "../../providers/index.ts";
import type { ContentSink } from "../module.ts";
import { type Content, openContent } from "./content-box.ts";
import { ContentKeeper } from "./content-keeper.ts";
import type { Redact } from "./redact.ts";
import { type ContentSettings, settings } from "./settings.ts";
import { readSwitches, setSwitch } from "./switches.ts";

const dayMs = 86_400_000;

export interface ContentLogDeps {
  readonly config: Pick<Config, "of" | "callRetentionDays" | "home" | "secretsKey">;
  readonly store: Store;
  readonly log: Pick<Log, "warn">;
  readonly now: () => number;
  readonly sink?: ContentSink | undefined;
  /** As of the keeper. */
  readonly waitingBytesMax?: number;
}

/** Person who looks at content or deletes it. */
interface Viewer {
  /** The account that they work in. */
  readonly accountId: string;
  /** The person's own account. */
  readonly personId: string;
  /** Whether the content of all accounts may be seen. */
  readonly seesAll: boolean;
}

/** Prompts and answers that are kept, for users who may see them. */
export class ContentLog {
  /** Absent where nothing is kept. */
  readonly keeper: ContentKeeper | undefined;
  readonly #deps: ContentLogDeps;
  readonly #contents: Contents;
  readonly #box: SecretBox;
  readonly #settings: ContentSettings;

  constructor(deps: ContentLogDeps, { contents, box, keeper }: ContentParts) {
    this.#deps = deps;
    this.#contents = contents;
    this.#box = box;
    this.#settings = deps.config.of(settings);
    this.keeper = keeper;
  }

  /** Number of days that content is kept: not longer than its row in the request log. */
  get days(): number {
    return Math.min(this.#settings.contentLogDays, this.#deps.config.callRetentionDays);
  }

  /** Whether there is content for a request of the log that the viewer may see. */
  async has(viewer: Viewer, requestId: string): Promise<boolean> {
    return await this.#contents.has(toContentId(requestId), ownerOf(viewer));
  }

  /**
   * The content of a request. Where operators look at another account than their own, also at one whose team they are in, it
   * is given out only after the audit entry of that is written.
   *
   * @throws {GatewayError} `not_found`; `conflict` when another secrets key encrypted it.
   */
  async view(viewer: Viewer, requestId: string): Promise<Content & { at: number }> {
    const row = await this.#contents.get(toContentId(requestId), ownerOf(viewer));
    if (row === undefined) throw noContent();
    if (viewer.seesAll && row.accountId !== viewer.personId) {
      const { store, now } = this.#deps;
      const detail = { request: row.id };
      const entry = { accountId: viewer.personId, action: "content.view", subject: row.accountId, detail };
      await recordAct(store, entry, now());
    }
    const content = await openContent(this.#box, row);
    if (content !== undefined) return { ...content, at: row.at };
    throw new GatewayError("conflict", "This content was encrypted by another SECRETS_KEY than today's");
  }

  /** Deletes the content of one request of the own account. @throws {GatewayError} `not_found` */
  async delete(accountId: string, requestId: string): Promise<void> {
    if (!(await this.#contents.delete(accountId, toContentId(requestId)))) throw noContent();
  }

  /** Deletes all content of an account, with an audit entry if another person does so. Returns how much there was. */
  async deleteAll(accountId: string, by: string): Promise<number> {
    const { store, now } = this.#deps;
    if (by !== accountId) {
      // There may be too much for one transaction, so the entry comes first.
      const { records: requests } = await this.#contents.measure(accountId);
      const entry = { accountId: by, action: "content.delete", subject: accountId, detail: { requests } };
      await recordAct(store, entry, now());
    }
    return await this.#contents.deleteAll(accountId);
  }

  /** For whom content of an account is kept, and how much there is. */
  async describe(accountId: string) {
    const { contentLog: mode, contentLogMaxMb: maxMb } = this.#settings;
    const [switches, size] = await Promise.all([
      readSwitches(this.#deps.store, accountId),
      this.#contents.measure(accountId),
    ]);
    return { mode, days: this.days, maxMb, ...switches, ...size };
  }

  /** Calls {@link setSwitch} with the dependencies of this log. */
  async setSwitch(change: Parameters<typeof setSwitch>[1]): Promise<void> {
    await setSwitch({ ...this.#deps, mode: this.#settings.contentLog }, change);
  }

  /** Deletes content that is older than {@link days}. */
  async prune(): Promise<number> {
    return await this.#contents.prune(this.#deps.now() - this.days * dayMs);
  }
}

interface ContentParts {
  readonly contents: Contents;
  readonly box: SecretBox;
  readonly keeper: ContentKeeper | undefined;
}

/** @param redact Absent where nothing is kept. */
export function createContentLog(deps: ContentLogDeps, redact?: Redact): ContentLog {
  const contents = createContents(deps.store);
  const box = new SecretBox(deps.config);
  const keeper = redact && new ContentKeeper({ ...deps, settings: deps.config.of(settings), contents, box, redact });
  return new ContentLog(deps, { contents, box, keeper });
}

/** A call that was served by a fallback has rows with a number behind its id. */
function toContentId(requestId: string): string {
  return requestId.replace(/-\d{1,4}$/, "");
}

function ownerOf({ accountId, seesAll }: Viewer): string | undefined {
  return seesAll ? undefined : accountId;
}

function noContent(): GatewayError {
  return new GatewayError("not_found", "There is no content of this request: none was kept, or it was deleted");
}
