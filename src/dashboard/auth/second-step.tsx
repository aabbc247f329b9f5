import { type FormEvent, useState } from "react";
import { changeVisitor, giveCode } from "../data/session.ts";
import { Callout } from "../ui/callout.tsx";
import { TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { GateCard } from "./gate-card.tsx";

/** A code after the password. */
export function SecondStep({ onBack }: { onBack: () => void }) {
  const [isWritten, setWritten] = useState(false);
  const [code, setCode] = useState("");
  const { run, isBusy, otherThan, clear } = useAction(async () => {
    await giveCode(code, isWritten);
    await changeVisitor();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const change = () => {
    setWritten(!isWritten);
    setCode("");
    clear();
  };
  const wrong = otherThan();
  return (
    <GateCard
      title="One more step"
      about={isWritten ? "Give one of the codes that you wrote down." : "Give the code that your authenticator shows."}
      foot={
        <button type="button" className="link" onClick={onBack}>
          Back to the password
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        <TextField
          key={String(isWritten)}
          label={isWritten ? "Written code" : "Code of six digits"}
          name="code"
          inputMode={isWritten ? "text" : "numeric"}
          autoComplete="one-time-code"
          spellCheck={false}
          required
          autoFocus
          maxLength={40}
          value={code}
          onText={setCode}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Checking…" : "Go on"}
        </button>
        <button type="button" className="link" onClick={change}>
          {isWritten ? "Use the authenticator" : "I cannot use my authenticator"}
        </button>
      </form>
    </GateCard>
  );
}
