import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { type Role, roleHints, roleNames, toRoleName } from "../../data/roles.ts";
import { SelectField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Fact, Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";

interface ProfileProps {
  account: AccountDetail;
  /** Whether the user may change the profile and role of this account. */
  mayManage: boolean;
  /** Only owners make owners. */
  isOwner: boolean;
}

export function ProfileSection({ account, mayManage, isOwner }: ProfileProps) {
  return (
    <Section title={account.is_team ? "Team" : "Profile and role"}>
      {mayManage ? <ProfileForm key={account.id} account={account} isOwner={isOwner} /> : <Facts account={account} />}
    </Section>
  );
}

function Facts({ account: { id, email, name, role, is_team } }: { account: AccountDetail }) {
  return (
    <dl className="facts card-body">
      <Fact name="Account ID" className="mono">
        {id}
      </Fact>
      <Fact name="Email">{email}</Fact>
      <Fact name="Name">{name ?? "–"}</Fact>
      <Fact name="Role">{is_team ? null : role === null ? "No sign-in yet" : toRoleName(role)}</Fact>
    </dl>
  );
}

function ProfileForm({ account, isOwner }: { account: AccountDetail; isOwner: boolean }) {
  const role: Role = account.role ?? "member";
  const isTeam = account.is_team;
  const form = useForm({ email: account.email ?? "", name: account.name ?? "", role }, async (values) => {
    const [email, name] = [values.email.trim(), values.name.trim()];
    const changes = {
      ...(email !== (account.email ?? "") && { email }),
      ...(name !== (account.name ?? "") && { name: name === "" ? null : name }),
      ...(values.role !== role && { role: values.role }),
    };
    await request(organization.projects({ project_id: account.id }).post(changes));
    await refreshAccounts();
    toast(`${isTeam ? name : email} saved`);
  });
  const { email, name, role: chosen } = form.values;
  const isChanged = email.trim() !== (account.email ?? "") || name.trim() !== (account.name ?? "") || chosen !== role;
  return (
    <Form form={form} className="stack card-body">
      {!isTeam && (
        <TextField label="Email" inputMode="email" autoComplete="off" maxLength={254} {...form.field("email")} />
      )}
      <TextField label="Name" autoComplete="off" maxLength={200} {...form.field("name")} />
      {!isTeam && (
        <SelectField
          label="Role"
          value={chosen}
          options={roleNames.filter(([role]) => role !== "owner" || isOwner)}
          onText={(next) => form.set({ role: next })}
          error={form.fieldError("role")}
          hint={roleHints[chosen]}
        />
      )}
      <div className="row row-apart">
        <Submit
          form={form}
          label="Save"
          busyLabel="Saving…"
          isComplete={isChanged && (isTeam ? name : email).trim() !== ""}
        />
        <span className="faint mono">{account.id}</span>
      </div>
    </Form>
  );
}
