import { GatewayError } from "../contract/index.ts";
import type { ExplainAbsence } from "../kernel/index.ts";
import type { AwaitedProvider } from "./unlisted-models.ts";

/** When a caller of a provider that is asked every few seconds may try again. */
const retryAfterMs = 5000;

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
    const reason = `${awaited.problem}; it is asked again every few seconds`;
    return new GatewayError("unavailable", `The models of ${awaited.name} are not known yet: ${reason}`, {
      retryAfterMs,
    });
  };

  #findAwaited(name: string): AwaitedProvider | undefined {
    return this.#awaited.find(({ prefix }) => name.startsWith(prefix));
  }
}
