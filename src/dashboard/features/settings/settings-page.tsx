import { toRoleName } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Form, Submit } from "../../kit/form.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { Fact, PageHead, Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { PasswordFields, usePasswordForm } from "../auth/new-password.tsx";
import { SecondFactorSection } from "./second-factor-section.tsx";
import { SessionsSection } from "./sessions-section.tsx";

export default function SettingsPage() {
  const { data: me } = useMe();
  const atEnd = usePlace("settings-end");
  if (me === undefined) return null;
  return (
    <>
      <PageHead title="Account settings" description="Your profile, password and sign-in security." />
      <div className="stack narrow">
        <Section title="Profile">
          <dl className="facts card-body">
            <Fact name="Name">{me.name}</Fact>
            <Fact name="Email">
              {me.email} {!me.email_verified && <span className="badge is-warn">not verified</span>}
            </Fact>
            <Fact name="Role">{toRoleName(me.role)}</Fact>
            <Fact name="Account ID" className="mono">
              {me.account}
            </Fact>
          </dl>
        </Section>
        <PasswordForm email={me.email} />
        <SecondFactorSection isOn={me.second_factor} />
        <SessionsSection />
        {atEnd.map((Part) => (
          <Part key={Part.name} />
        ))}
      </div>
    </>
  );
}

/** Changes the password and signs out all other sessions. */
function PasswordForm({ email }: { email: string }) {
  const form = usePasswordForm(() => {
    form.reset();
    toast("Password changed; other devices are signed out");
  });
  const { currentPassword, newPassword } = form.values;
  return (
    <Section title="Password">
      <Form form={form} className="stack card-body" isNative>
        <PasswordFields form={form} email={email} />
        <div className="row">
          <Submit
            form={form}
            label="Change password"
            busyLabel="Changing…"
            isComplete={currentPassword !== "" && newPassword !== ""}
          />
        </div>
      </Form>
    </Section>
  );
}
