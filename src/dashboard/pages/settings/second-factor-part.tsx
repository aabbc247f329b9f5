import { useState } from "react";
import { mutate } from "swr";
import { useGateway } from "../../data/gateway.ts";
import { beginSecondFactor, endSecondFactor } from "../../data/session.ts";
import { PasswordField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Section } from "../../ui/page.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Enrolment } from "./enrolment.tsx";

/** A code after the password, for whoever wants more than that. */
export function SecondFactorPart({ isOn }: { isOn: boolean }) {
  const { data: gateway } = useGateway();
  const [isAsking, setAsking] = useState(false);
  const [begun, setBegun] = useState<Awaited<ReturnType<typeof beginSecondFactor>>>();
  const withPassword = async (password: string) => {
    if (isOn) {
      await endSecondFactor(password);
      await mutate("me");
      toast("The password alone signs in again");
    } else {
      setBegun(await beginSecondFactor(password));
    }
    setAsking(false);
  };
  return (
    <Section
      title="Two-step sign-in"
      actions={<span className={isOn ? "badge is-good" : "badge"}>{isOn ? "on" : "off"}</span>}
    >
      <div className="stack card-body">
        <p className="soft">
          With it, a sign-in takes a code of an authenticator app beside the password: a password that was found out is
          not enough.
        </p>
        {gateway?.oidc === true && (
          <p className="soft">
            Single sign-on asks for no code here: your provider decides how it makes sure that it is you.
          </p>
        )}
        <div className="row">
          <button type="button" className="btn" onClick={() => setAsking(true)}>
            {isOn ? "Switch off" : "Set up"}
          </button>
        </div>
      </div>
      {isAsking && (
        <AskPassword
          title={isOn ? "Switch two-step sign-in off" : "Set up two-step sign-in"}
          act={withPassword}
          onClose={() => setAsking(false)}
        />
      )}
      {begun !== undefined && <Enrolment begun={begun} onClose={() => setBegun(undefined)} />}
    </Section>
  );
}

function AskPassword({
  title,
  act,
  onClose,
}: {
  title: string;
  act: (password: string) => Promise<void>;
  onClose: () => void;
}) {
  const [password, setPassword] = useState("");
  const action = useAction(() => act(password));
  return (
    <FormDialog
      title={title}
      verbs={["Go on", "Go on"]}
      action={action}
      isWhole={password !== ""}
      wrong={action.otherThan()}
      onClose={onClose}
    >
      <PasswordField
        label="Your password"
        autoComplete="current-password"
        required
        autoFocus
        value={password}
        onText={setPassword}
      />
    </FormDialog>
  );
}
