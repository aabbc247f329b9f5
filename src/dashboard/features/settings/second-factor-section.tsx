import { useState } from "react";
import { mutate } from "swr";
import { useGateway } from "../../data/api.ts";
import { disableSecondFactor, enableSecondFactor } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { PasswordField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { SecondFactorSetup } from "./second-factor-setup.tsx";

export function SecondFactorSection({ isOn }: { isOn: boolean }) {
  const { data: gateway } = useGateway();
  const [isAsking, setAsking] = useState(false);
  const [setup, setSetup] = useState<Awaited<ReturnType<typeof enableSecondFactor>>>();
  const withPassword = async (password: string) => {
    if (isOn) {
      await disableSecondFactor(password);
      await mutate("me");
      toast("Two-step sign-in is off");
    } else {
      setSetup(await enableSecondFactor(password));
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
          Signing in also requires a code from an authenticator app, so a leaked password is not enough to access your
          account.
        </p>
        {gateway?.oidc === true && (
          <p className="soft">Not required for single sign-on: your identity provider decides how to verify you.</p>
        )}
        <div className="row">
          <Button onClick={() => setAsking(true)}>{isOn ? "Turn off" : "Set up"}</Button>
        </div>
      </div>
      {isAsking && (
        <ConfirmPassword
          title={isOn ? "Turn off two-step sign-in" : "Set up two-step sign-in"}
          act={withPassword}
          onClose={() => setAsking(false)}
        />
      )}
      {setup !== undefined && <SecondFactorSetup setup={setup} onClose={() => setSetup(undefined)} />}
    </Section>
  );
}

function ConfirmPassword({
  title,
  act,
  onClose,
}: {
  title: string;
  act: (password: string) => Promise<void>;
  onClose: () => void;
}) {
  const form = useForm({ password: "" }, ({ password }) => act(password));
  return (
    <FormDialog
      title={title}
      form={form}
      label="Continue"
      busyLabel="Checking…"
      isComplete={form.values.password !== ""}
      onClose={onClose}
    >
      <PasswordField
        label="Current password"
        autoComplete="current-password"
        required
        autoFocus
        {...form.field("password")}
      />
    </FormDialog>
  );
}
