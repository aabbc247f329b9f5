import { useState } from "react";
import { refreshAccounts } from "../../data/admin.ts";
import { organization, request, toMessage } from "../../data/api.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Check, TextAreaField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { inviteHolder } from "../team/api.ts";

/** People of one list; more are another. */
const peopleMax = 500;

interface Person {
  readonly email: string;
  readonly name: string;
}

/** The result for one person of the list. */
interface Outcome extends Person {
  readonly url?: string;
  readonly error?: string;
}

/** Opens accounts for a pasted list, or the rows of a CSV file, and makes an invitation for each. */
export function InvitePeopleDialog({ onClose }: { onClose: () => void }) {
  const [sends, setSends] = useState(false);
  const [done, setDone] = useState(0);
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const form = useForm({ people: "" }, async ({ people }) => {
    const list = readPeople(people);
    const results: Outcome[] = [];
    for (const person of list) {
      results.push(await invite(person, sends));
      setDone(results.length);
    }
    // The form stays open then, with the addresses that were typed.
    if (results.every(({ error }) => error !== undefined)) {
      throw new Error(results.map(({ email, error }) => `${email}: ${error}`).join("; "));
    }
    setOutcomes(results);
    await refreshAccounts();
  });
  const people = readPeople(form.values.people);
  if (outcomes !== undefined) {
    const failed = outcomes.filter(({ error }) => error !== undefined).length;
    return (
      <Dialog
        title={`${outcomes.length - failed} of ${outcomes.length} invited`}
        description="The links work once, for 48 hours, and are not shown again: download them now."
        isWide
        isPersistent
        onClose={onClose}
      >
        <DialogContent label="Done" onClose={onClose}>
          <Table
            rows={outcomes}
            rowKey={({ email }) => email}
            columns={columns}
            sortName="sort-invited"
            fileName="invitations"
          />
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Invite people"
      description="Each gets an account and a link for setting a password."
      form={form}
      label={people.length === 1 ? "Invite 1 person" : `Invite ${people.length} people`}
      busyLabel={`Inviting ${done + 1} of ${people.length}…`}
      isComplete={people.length > 0 && people.length <= peopleMax}
      onClose={onClose}
    >
      <TextAreaField
        label="Email addresses"
        rows={8}
        autoFocus
        spellCheck={false}
        placeholder={"ada@example.org\ngrace@example.org, Grace Hopper"}
        {...form.field("people")}
        hint="One per line or separated by commas; a name may follow an address, as in a CSV file"
        {...(people.length > peopleMax && { error: `At most ${peopleMax} at once` })}
      />
      <label className="check">
        <input
          type="file"
          className="unseen"
          accept=".csv,.txt,text/csv,text/plain"
          onChange={({ target }) => void target.files?.[0]?.text().then((text) => form.set({ people: text }))}
        />
        <span className="btn btn-small">Choose a CSV file</span>
      </label>
      <Check checked={sends} onCheck={setSends}>
        Send the links by email
      </Check>
    </FormDialog>
  );
}

async function invite(person: Person, sends: boolean): Promise<Outcome> {
  try {
    const { email, name } = person;
    const { id } = await request(organization.projects.post({ email, ...(name !== "" && { name }) }));
    const { url, mail } = await inviteHolder(id, email, sends);
    return { ...person, url, ...(mail?.error && { error: `The mail was not sent: ${mail.error}` }) };
  } catch (error) {
    return { ...person, error: toMessage(error) };
  }
}

/** The addresses of a text, each once; what follows one on its line is its name. Other lines, such as a heading, are left out. */
function readPeople(text: string): Person[] {
  const people = new Map<string, Person>();
  for (const line of text.split(/\r?\n|;/)) {
    const cells = line.split(/[,\t]/).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
    for (const [place, cell] of cells.entries()) {
      const email = (/<([^<>]+)>$/.exec(cell)?.[1] ?? cell).trim().toLowerCase();
      if (!/^[^\s@<>]+@[^\s@<>]+$/.test(email) || people.has(email)) continue;
      const next = cells[place + 1] ?? "";
      const before = cell.includes("<") ? cell.slice(0, cell.indexOf("<")).trim() : "";
      people.set(email, { email, name: before !== "" ? before : next.includes("@") ? "" : next });
    }
  }
  return [...people.values()];
}

const columns: readonly Column<Outcome>[] = [
  { name: "Email", className: "name lead", sort: ({ email }) => email, cell: ({ email }) => email },
  {
    name: "Invitation",
    sort: ({ url, error }) => error ?? url,
    cell: ({ url, error }) =>
      error === undefined ? <span className="mono break">{url}</span> : <span className="wrong">{error}</span>,
  },
];
