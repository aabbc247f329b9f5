import { GatewayError } from "../contract/index.ts";
import type { ExplainAbsence } from "../kernel/index.ts";
import type { AwaitedProvider } from "./unlisted-models.ts";

/** Explains to callers why models that are known here cannot be called now. */
export class AbsentModels {
  readonly #awaited: readonly AwaitedProvider[];

  /** @param awaited Those of one snapshot: a provider that has listed its models is awaited until these are served. */
  constructor(awaited: readonly AwaitedProvider[]) {
    this.#awaited = awaited;
  }

  /** Whether a name may be that of a model which its provider has not listed yet. */
  readonly isAwaited = (name: string): boolean => this.#findAwaited(name) !== undefined;

  readonly explain: ExplainAbsence = (name) => {
    const awaited = this.#findAwaited(name);
    if (awaited === undefined) return undefined;
    const message = `The models of ${awaited.name} are not known yet: ${awaited.problem}`;
    return new GatewayError("unavailable", message, { retryAfterMs: awaited.retryMs });
  };

  #findAwaited(name: string): AwaitedProvider | undefined {
    return this.#awaited.find(({ prefix }) => name.startsWith(prefix));
  }
}
