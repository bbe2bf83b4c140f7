"""Runs all of USD's own validators over usdz files and counts their triangles.

    python usd.py TRIANGLES FILE...

Prints a line for each issue, and for each file that has another number of triangles, unless TRIANGLES is "any".
"""
import sys

from pxr import Usd, UsdGeom, UsdValidation

wanted = None if sys.argv[1] == "any" else int(sys.argv[1])
registry = UsdValidation.ValidationRegistry()
context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
for path in sys.argv[2:]:
    name = path.rsplit("/", 1)[-1]
    stage = Usd.Stage.Open(path)
    for issue in context.Validate(stage):
        print(f"{name}: {issue.GetName()}: {issue.GetMessage()}")
    meshes = [UsdGeom.Mesh(prim) for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if prim.IsA(UsdGeom.Mesh)]
    triangles = sum(len(mesh.GetFaceVertexCountsAttr().Get()) for mesh in meshes)
    if wanted is not None and triangles != wanted:
        print(f"{name}: {triangles} triangles, {wanted} written")
