/** Requests as Okta sends them, in its order: names, cases and fields are its own. */
const user = "urn:ietf:params:scim:schemas:core:2.0:User";
const group = "urn:ietf:params:scim:schemas:core:2.0:Group";
const patchOp = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export const okta = {
  headers: { "content-type": "application/scim+json; charset=utf-8", accept: "application/scim+json" },
  testUsers: "/Users?startIndex=1&count=2",
  testGroups: "/Groups?startIndex=1&count=100",
  findUser: (email: string) =>
    `/Users?filter=userName%20eq%20%22${encodeURIComponent(email)}%22&startIndex=1&count=100`,
  newUser: (email: string, externalId: string) => ({
    schemas: [user],
    userName: email,
    name: { givenName: "Grace", familyName: "Hopper" },
    emails: [{ primary: true, value: email, type: "work" }],
    displayName: "Grace Hopper",
    locale: "en-US",
    externalId,
    groups: [],
    password: "1mz050nq",
    active: true,
  }),
  wholeUser: (id: string, email: string, active: boolean) => ({
    schemas: [user],
    id,
    userName: email,
    name: { givenName: "Grace", middleName: "", familyName: "Murray" },
    emails: [{ primary: true, value: email, type: "work", display: email }],
    active,
    groups: [],
    meta: { resourceType: "User" },
  }),
  setActive: (active: boolean) => ({ schemas: [patchOp], Operations: [{ op: "replace", value: { active } }] }),
  findGroup: (name: string) =>
    `/Groups?filter=displayName%20eq%20%22${encodeURIComponent(name)}%22&startIndex=1&count=100`,
  newGroup: (displayName: string, members: readonly { value: string; display: string }[]) => ({
    schemas: [group],
    displayName,
    members,
  }),
  rename: (id: string, displayName: string) => ({
    schemas: [patchOp],
    Operations: [{ op: "replace", value: { id, displayName } }],
  }),
  changeMembers: (removed: string, added: { value: string; display: string }) => ({
    schemas: [patchOp],
    Operations: [
      { op: "remove", path: `members[value eq "${removed}"]` },
      { op: "add", path: "members", value: [added] },
    ],
  }),
  replaceMembers: (members: readonly { value: string; display: string }[]) => ({
    schemas: [patchOp],
    Operations: [{ op: "replace", path: "members", value: members }],
  }),
};
