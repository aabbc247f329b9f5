import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useAccounts } from "../../data/admin.ts";
import { useGateway } from "../../data/api.ts";
import { mayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Section } from "../../kit/page.tsx";
import { readItem, writeItem } from "../../kit/storage.ts";
import { useKeys } from "../keys/api.ts";

const storageKey = "modelgate-first-steps";

interface Step {
  readonly title: string;
  readonly isDone: boolean;
  readonly hint: ReactNode;
}

/** The first steps, until all of them are done or it is hidden in this browser. */
export function FirstSteps({ hasCalls }: { hasCalls: boolean | undefined }) {
  const { data: me } = useMe();
  const [isHidden, setHidden] = useState(() => readItem(storageKey) !== null);
  if (isHidden || me === undefined || hasCalls === undefined) return null;
  const hide = () => {
    setHidden(true);
    writeItem(storageKey, "hidden");
  };
  const Steps = mayAdminister(me.role) ? AdminSteps : UserSteps;
  return <Steps hasCalls={hasCalls} onHide={hide} />;
}

interface StepsProps {
  readonly hasCalls: boolean;
  readonly onHide: () => void;
}

function UserSteps({ hasCalls, onHide }: StepsProps) {
  const steps = useUserSteps(hasCalls);
  return steps !== undefined && <Checklist steps={steps} onHide={onHide} />;
}

function AdminSteps({ hasCalls, onHide }: StepsProps) {
  const steps = useUserSteps(hasCalls);
  const { data: gateway } = useGateway();
  const { data: accounts } = useAccounts();
  if (steps === undefined || gateway === undefined || accounts === undefined) return null;
  const provider: Step = {
    title: "Add a provider",
    isDone: !gateway.sandbox,
    hint: (
      <>
        Answers are simulated until a provider has an API key. <Link href="/admin/providers">Set one up</Link>
      </>
    ),
  };
  const invitation: Step = {
    title: "Invite somebody",
    isDone: accounts.data.length > 1,
    hint: (
      <>
        Create an account with its own keys, quota and wallet. <Link href="/admin/accounts">Add an account</Link>
      </>
    ),
  };
  return <Checklist steps={[...steps, provider, invitation]} onHide={onHide} />;
}

function useUserSteps(hasCalls: boolean): readonly Step[] | undefined {
  const { data: keys } = useKeys();
  if (keys === undefined) return undefined;
  return [
    {
      title: "Create an API key",
      isDone: keys.data.length > 0,
      hint: (
        <>
          Apps use it to call the API; it works with any OpenAI SDK. <Link href="/keys">Create a key</Link>
        </>
      ),
    },
    {
      title: "Make the first call",
      isDone: hasCalls,
      hint: (
        <>
          <Link href="/connect">Connect</Link> has examples for every client, or{" "}
          <Link href="/playground">try a model</Link> in the browser. The call shows up here within seconds.
        </>
      ),
    },
  ];
}

function Checklist({ steps, onHide }: { steps: readonly Step[]; onHide: () => void }) {
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return null;
  return (
    <Section
      title="Getting started"
      actions={
        <span className="row">
          <span className="faint">
            {done} of {steps.length} done
          </span>
          <Button look="plain small" onClick={onHide}>
            Hide
          </Button>
        </span>
      }
    >
      <ol className="steps">
        {steps.map(({ title, isDone, hint }) => (
          <li key={title} className={isDone ? "step is-good" : "step"}>
            <span className="step-mark">{isDone && <Icon name="check" size={14} />}</span>
            <div>
              <strong>{title}</strong>
              {isDone ? <span className="unseen"> (done)</span> : <p className="soft">{hint}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
