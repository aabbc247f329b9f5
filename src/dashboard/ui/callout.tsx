import type { ReactNode } from "react";
import { Icon } from "./icon.tsx";

type Tone = "plain" | "good" | "bad" | "warn";

/** A sentence that should not be missed. */
export function Callout({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  const icon = tone === "good" ? "check" : tone === "plain" ? "info" : "alert";
  return (
    <div className={tone === "plain" ? "callout" : `callout is-${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icon} size={17} />
      <div>{children}</div>
    </div>
  );
}
