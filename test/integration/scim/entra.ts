/** Requests as Microsoft Entra ID sends them, in its order: names, cases and fields are its own. */
const user = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const patchOp = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export const entra = {
  testConnection: "/Users?filter=userName+eq+%2273ae5a1b-63f3-4a2d-8f4c-0a0b37dd1b2f%22",
  findUser: (email: string) => `/Users?filter=userName+eq+%22${encodeURIComponent(email)}%22`,
  findByExternalId: (id: string) => `/Users?filter=externalId+eq+%22${id}%22`,
  newUser: (email: string, externalId: string) => ({
    schemas: [user, enterprise],
    externalId,
    userName: email,
    active: true,
    displayName: "Ada Lovelace",
    emails: [{ primary: true, type: "work", value: email }],
    meta: { resourceType: "User" },
    name: { formatted: "Ada Lovelace", familyName: "Lovelace", givenName: "Ada" },
    roles: [],
  }),
  change: {
    schemas: [patchOp],
    Operations: [
      { op: "Replace", path: "displayName", value: "Ada King" },
      { op: "Replace", path: "name.familyName", value: "King" },
      { op: "Add", path: 'emails[type eq "work"].value', value: "ada.king@example.org" },
      { op: "Add", path: `${enterprise}:department`, value: "Analysis" },
    ],
  },
  disable: { schemas: [patchOp], Operations: [{ op: "Replace", path: "active", value: "False" }] },
  enable: { schemas: [patchOp], Operations: [{ op: "Replace", path: "active", value: "True" }] },
  /** With its flag for the behaviour that the specification describes. */
  disableByFlag: { schemas: [patchOp], Operations: [{ op: "replace", value: { active: false } }] },
  findGroup: (name: string) =>
    `/Groups?excludedAttributes=members&filter=displayName+eq+%22${encodeURIComponent(name)}%22`,
  newGroup: (name: string, externalId: string) => ({
    schemas: [
      "urn:ietf:params:scim:schemas:core:2.0:Group",
      "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group",
    ],
    externalId,
    displayName: name,
    meta: { resourceType: "Group" },
  }),
  group: (id: string) => `/Groups/${id}?excludedAttributes=members`,
  addMember: (id: string) => ({
    schemas: [patchOp],
    Operations: [{ op: "Add", path: "members", value: [{ $ref: null, value: id }] }],
  }),
  removeMember: (id: string) => ({
    schemas: [patchOp],
    Operations: [{ op: "Remove", path: "members", value: [{ $ref: null, value: id }] }],
  }),
};
