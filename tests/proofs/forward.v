(* Lemmas corners, chain, forward input, forward box, forward, backward sum, ReLU and gate of models/mathematics.md, of the
   rounded operations themselves: fma to nearest, ties to even, subnormals kept. That nothing overflows is the theorem
   total map; without that these would be real numbers with no largest one. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core.
Import ListNotations.
Open Scope R_scope.

Section Format.
Variables emin prec : Z.
Context {Hprec : Prec_gt_0 prec}.               (* double: -1074, 53; float: -149, 24 *)
Definition fl (x : R) : R := round radix2 (FLT_exp emin prec) ZnearestE x.
Definition fma (a b c : R) : R := fl (a * b + c).

(* corners (b) *)
Theorem fl_does_not_fall : forall x y, x <= y -> fl x <= fl y.
Proof. intros. apply round_le; [apply FLT_exp_valid; assumption|apply valid_rnd_N|assumption]. Qed.
Lemma fma_le a b c a' b' c' : a * b <= a' * b' -> c <= c' -> fma a b c <= fma a' b' c'.
Proof. intros. apply fl_does_not_fall. lra. Qed.

(* kernels/reference/operations.hpp, one output: bias first, then the terms in order. *)
Fixpoint chain (terms : list (R * R)) (sum : R) : R :=
  match terms with [] => sum | (w, z) :: rest => chain rest (fma w z sum) end.
Record box := { lower : R; upper : R }.
Definition holds (b : box) (x : R) := lower b <= x <= upper b.
Definition inside (a b : box) := lower b <= lower a /\ upper a <= upper b.
Definition proper (b : box) := lower b <= upper b.
Definition at_least0 (x : R) := if Rle_dec 0 x then true else false.

(* forward: z >= 0 *)
Fixpoint forward_lower (terms : list (box * box)) (sum : R) : R :=
  match terms with [] => sum
  | (w, z) :: rest => forward_lower rest (fma (lower w) (if at_least0 (lower w) then lower z else upper z) sum) end.
Fixpoint forward_upper (terms : list (box * box)) (sum : R) : R :=
  match terms with [] => sum
  | (w, z) :: rest => forward_upper rest (fma (upper w) (if at_least0 (upper w) then upper z else lower z) sum) end.

Ltac signs := unfold at_least0 in *; repeat destruct (Rle_dec _ _); nra.

Definition term_in (p : R * R) (b : box * box) := holds (fst b) (fst p) /\ holds (snd b) (snd p) /\ 0 <= lower (snd b).
Theorem forward_inclusion : forall points boxes, Forall2 term_in points boxes -> forall bias b, holds b bias ->
  forward_lower boxes (lower b) <= chain points bias <= forward_upper boxes (upper b).
Proof.
  intros points boxes F. induction F as [|(w, z) (W, Z) ps bs (Hw & Hz & H0) F IH]; intros x b H; simpl; [exact H|].
  cbn in Hw, Hz, H0. unfold holds in *.
  apply (IH (fma w z x) {| lower := fma (lower W) (if at_least0 (lower W) then lower Z else upper Z) (lower b);
               upper := fma (upper W) (if at_least0 (upper W) then upper Z else lower Z) (upper b) |}).
  cbn. split; apply fma_le; try lra; signs.
Qed.
Definition boxes_in (a b : box * box) := inside (fst a) (fst b) /\ inside (snd a) (snd b) /\ 
  proper (fst a) /\ proper (snd a) /\ 0 <= lower (snd b).
Theorem forward_isotony : forall small large, Forall2 boxes_in small large -> forall a b, inside a b ->
  forward_lower large (lower b) <= forward_lower small (lower a) /\
  forward_upper small (upper a) <= forward_upper large (upper b).
Proof.
  intros small large F. 
  induction F as [|(w, z) (W, Z) ps bs (Hw & Hz & Pw & Pz & H0) F IH]; intros a b H; simpl; [exact H|].
  unfold inside, proper in *. cbn in *.
  apply (IH {| lower := fma (lower w) (if at_least0 (lower w) then lower z else upper z) (lower a);
               upper := fma (upper w) (if at_least0 (upper w) then upper z else lower z) (upper a) |}
            {| lower := fma (lower W) (if at_least0 (lower W) then lower Z else upper Z) (lower b);
               upper := fma (upper W) (if at_least0 (upper W) then upper Z else lower Z) (upper b) |}).
  cbn. split; apply fma_le; try lra; signs.
Qed.

(* backward sum, forward box: the least and the greatest of four corners, any signs *)
Definition least4 (w z : box) s := Rmin (Rmin (fma (lower w) (lower z) s) (fma (lower w) (upper z) s))
                                        (Rmin (fma (upper w) (lower z) s) (fma (upper w) (upper z) s)).
Definition greatest4 (w z : box) s := Rmax (Rmax (fma (lower w) (lower z) s) (fma (lower w) (upper z) s))
                                           (Rmax (fma (upper w) (lower z) s) (fma (upper w) (upper z) s)).
Lemma corner_below (w z : box) x y : holds w x -> holds z y ->
  lower w * lower z <= x * y \/ lower w * upper z <= x * y \/ upper w * lower z <= x * y \/ upper w * upper z <= x * y.
Proof. unfold holds. intros. destruct (Rle_dec 0 y), (Rle_dec 0 (lower w)), (Rle_dec 0 (upper w)); 
  first [left; nra | right; left; nra | right; right; left; nra | right; right; right; nra]. Qed.
Lemma corner_above (w z : box) x y : holds w x -> holds z y ->
  x * y <= lower w * lower z \/ x * y <= lower w * upper z \/ x * y <= upper w * lower z \/ x * y <= upper w * upper z.
Proof. unfold holds. intros. destruct (Rle_dec 0 y), (Rle_dec 0 (lower w)), (Rle_dec 0 (upper w)); 
  first [left; nra | right; left; nra | right; right; left; nra | right; right; right; nra]. Qed.
Lemma least4_ok w z x y s s' : holds w x -> holds z y -> s <= s' -> least4 w z s <= fma x y s'.
Proof.
  intros Hw Hz Hs. unfold least4.
  pose proof (Rmin_l (fma (lower w) (lower z) s) (fma (lower w) (upper z) s)).
  pose proof (Rmin_r (fma (lower w) (lower z) s) (fma (lower w) (upper z) s)).
  pose proof (Rmin_l (fma (upper w) (lower z) s) (fma (upper w) (upper z) s)).
  pose proof (Rmin_r (fma (upper w) (lower z) s) (fma (upper w) (upper z) s)).
  set (m := Rmin (fma (lower w) _ s) _) in *. set (m' := Rmin (fma (upper w) _ s) _) in *.
  pose proof (Rmin_l m m'). pose proof (Rmin_r m m').
  destruct (corner_below w z x y Hw Hz) as [C|[C|[C|C]]]; pose proof (fma_le _ _ _ _ _ _ C Hs); lra.
Qed.
Lemma greatest4_ok w z x y s s' : holds w x -> holds z y -> s <= s' -> fma x y s <= greatest4 w z s'.
Proof.
  intros Hw Hz Hs. unfold greatest4.
  pose proof (Rmax_l (fma (lower w) (lower z) s') (fma (lower w) (upper z) s')).
  pose proof (Rmax_r (fma (lower w) (lower z) s') (fma (lower w) (upper z) s')).
  pose proof (Rmax_l (fma (upper w) (lower z) s') (fma (upper w) (upper z) s')).
  pose proof (Rmax_r (fma (upper w) (lower z) s') (fma (upper w) (upper z) s')).
  set (m := Rmax (fma (lower w) _ s') _) in *. set (m' := Rmax (fma (upper w) _ s') _) in *.
  pose proof (Rmax_l m m'). pose proof (Rmax_r m m').
  destruct (corner_above w z x y Hw Hz) as [C|[C|[C|C]]]; pose proof (fma_le _ _ _ _ _ _ C Hs); lra.
Qed.
Fixpoint chain_lower (terms : list (box * box)) (sum : R) : R :=
  match terms with [] => sum | (w, z) :: rest => chain_lower rest (least4 w z sum) end.
Fixpoint chain_upper (terms : list (box * box)) (sum : R) : R :=
  match terms with [] => sum | (w, z) :: rest => chain_upper rest (greatest4 w z sum) end.
Theorem backward_inclusion : forall points boxes,
  Forall2 (fun p b => holds (fst b) (fst p) /\ holds (snd b) (snd p)) points boxes ->
  forall s b, holds b s -> chain_lower boxes (lower b) <= chain points s <= chain_upper boxes (upper b).
Proof.
  intros points boxes F. induction F as [|(w, z) (W, Z) ps bs (Hw & Hz) F IH]; intros x b H; simpl; [exact H|].
  apply (IH (fma w z x) {| lower := least4 W Z (lower b); upper := greatest4 W Z (upper b) |}).
  unfold holds in *. cbn in *. split; [apply least4_ok|apply greatest4_ok]; unfold holds; lra.
Qed.
Theorem backward_isotony : forall small large,
  Forall2 (fun a b => inside (fst a) (fst b) /\ inside (snd a) (snd b) /\ proper (fst a) /\ proper (snd a)) small large ->
  forall a b, inside a b ->
  chain_lower large (lower b) <= chain_lower small (lower a) /\ chain_upper small (upper a) <= chain_upper large (upper b).
Proof.
  intros small large F. induction F as [|(w, z) (W, Z) ps bs (Hw & Hz & Pw & Pz) F IH]; intros a b H; simpl; [exact H|].
  apply (IH {| lower := least4 w z (lower a); upper := greatest4 w z (upper a) |}
            {| lower := least4 W Z (lower b); upper := greatest4 W Z (upper b) |}).
  unfold inside, proper in *. cbn in *. split.
  - unfold least4 at 2. repeat apply Rmin_glb; apply least4_ok; unfold holds; lra.
  - unfold greatest4 at 1. repeat apply Rmax_lub; apply greatest4_ok; unfold holds; lra.
Qed.

(* ReLU and its gate *)
Definition relu (S a : R) := Rmin (Rmax a 0) S.
Theorem relu_does_not_fall : forall S a b, a <= b -> relu S a <= relu S b.
Proof. intros. unfold relu. apply Rle_min_compat_r, Rle_max_compat_r. assumption. Qed.
Definition gate (z s : R) := if Rlt_dec 0 z then s else 0.
Definition gate_lower (z s : box) := if Rlt_dec 0 (lower z) then lower s else if Rlt_dec 0 (upper z) then Rmin (lower s) 0 else 0.
Definition gate_upper (z s : box) := if Rlt_dec 0 (lower z) then upper s else if Rlt_dec 0 (upper z) then Rmax (upper s) 0 else 0.
Ltac cases := unfold gate, gate_lower, gate_upper, holds, inside, proper, Rmin, Rmax in *;
  repeat match goal with |- context [if ?c then _ else _] => destruct c end; lra.
Theorem gate_inclusion : forall z s Z S, holds Z z -> holds S s -> gate_lower Z S <= gate z s <= gate_upper Z S.
Proof. intros. cases. Qed.
Theorem gate_isotony : forall z s Z S, inside z Z -> inside s S -> proper z -> proper s ->
  gate_lower Z S <= gate_lower z s /\ gate_upper z s <= gate_upper Z S.
Proof. intros. cases. Qed.
End Format.

(* ---- Examples in double precision, and wrong statements refuted ---- *)
#[local] Instance double : Prec_gt_0 53 := eq_refl.
Notation round64 := (fl (-1074) 53).
Notation fma64 := (fma (-1074) 53).
Lemma whole n : (Z.abs n < 2 ^ 53)%Z -> round64 (IZR n) = IZR n.
Proof.
  intros H. apply round_generic; [apply valid_rnd_N|]. apply generic_format_FLT. exists (Float radix2 n 0); [unfold F2R; simpl; lra|exact H|simpl; lia].
Qed.
Lemma fma_whole a b c n : a * b + c = IZR n -> (Z.abs n < 2 ^ 53)%Z -> fma64 a b c = IZR n.
Proof. intros E H. unfold fma. rewrite E. apply whole. exact H. Qed.
Definition unit_box := {| lower := 0; upper := 1 |}.
Definition around := {| lower := -1; upper := 1 |}.
Definition at_1 := {| lower := 1; upper := 1 |}.
Ltac boxes := repeat (apply Forall2_cons || apply Forall2_nil); unfold term_in, boxes_in, holds, inside, proper, around, unit_box, at_1; simpl; repeat split; lra.

Example fl_does_not_fall_example : round64 (1 / 3) <= round64 (1 / 2).
Proof. apply (fl_does_not_fall (-1074) 53). lra. Qed.
Example forward_inclusion_example : forward_lower (-1074) 53 [(around, unit_box)] 0 <= chain (-1074) 53 [(-1 / 3, 1 / 7)] (1 / 5) <= forward_upper (-1074) 53 [(around, unit_box)] 1.
Proof. apply (forward_inclusion (-1074) 53 [(-1 / 3, 1 / 7)] [(around, unit_box)] ltac:(boxes) (1 / 5) unit_box). boxes. Qed.
Example forward_isotony_example : forward_lower (-1074) 53 [(around, unit_box)] 0 <= forward_lower (-1074) 53 [(at_1, unit_box)] 0.
Proof. apply (forward_isotony (-1074) 53 [(at_1, unit_box)] [(around, unit_box)] ltac:(boxes) unit_box unit_box). boxes. Qed.
Example backward_inclusion_example : chain_lower (-1074) 53 [(around, around)] 0 <= chain (-1074) 53 [(-1 / 3, 1 / 7)] (1 / 5) <= chain_upper (-1074) 53 [(around, around)] 1.
Proof. apply (backward_inclusion (-1074) 53 [(-1 / 3, 1 / 7)] [(around, around)] ltac:(boxes) (1 / 5) unit_box). boxes. Qed.
Example backward_isotony_example : chain_lower (-1074) 53 [(around, around)] 0 <= chain_lower (-1074) 53 [(at_1, around)] 0.
Proof. apply (backward_isotony (-1074) 53 [(at_1, around)] [(around, around)] ltac:(boxes) unit_box unit_box). boxes. Qed.
Example relu_does_not_fall_example : relu 5 (-1) <= relu 5 2.
Proof. apply relu_does_not_fall. lra. Qed.
Example gate_inclusion_example : gate_lower around at_1 <= gate (1 / 2) 1 <= gate_upper around at_1.
Proof. apply gate_inclusion; boxes. Qed.
Example gate_isotony_example : gate_lower around at_1 <= gate_lower unit_box at_1 /\ gate_upper unit_box at_1 <= gate_upper around at_1.
Proof. apply gate_isotony; boxes. Qed.

(* Rounding does not keep what is strictly less. *)
Fact fl_does_not_fall_mutant : ~ (forall x y, x < y -> round64 x < round64 y).
Proof.
  intros H. (* 0 and half of half the least number *)
  assert (0 < bpow radix2 (-1076)) by apply bpow_gt_0. specialize (H _ _ H0). unfold fl in H. rewrite round_0 in H by apply valid_rnd_N.
  rewrite (round_N_small_pos radix2 (FLT_exp (-1074) 53) _ (bpow radix2 (-1076)) (-1075)) in H; [lra|split; [apply bpow_le; lia|apply bpow_lt; lia]|unfold FLT_exp; lia].
Qed.
(* The lower end with the lower z whatever the sign of the weight. *)
Fact forward_inclusion_mutant : ~ fma64 (-1) (lower unit_box) 0 <= chain (-1074) 53 [(-1, 1)] 0.
Proof. simpl. rewrite (fma_whole _ _ _ 0), (fma_whole _ _ _ (-1)) by (simpl; lra || lia). lra. Qed.
(* z of any sign: for w in [-1, 1] and z in [-1, -1] the formula gives 1 at the lower end, and nests no more. *)
Fact forward_isotony_mutant : let z := {| lower := -1; upper := -1 |} in
  ~ forward_lower (-1074) 53 [(around, z)] 0 <= forward_lower (-1074) 53 [(at_1, z)] 0.
Proof.
  unfold forward_lower, at_least0. simpl. destruct (Rle_dec 0 (-1)), (Rle_dec 0 1); try lra.
  rewrite (fma_whole _ _ _ 1), (fma_whole _ _ _ (-1)) by (simpl; lra || lia). lra.
Qed.
(* Two corners in place of four. *)
Fact backward_inclusion_mutant : ~ Rmin (fma64 (-1) (-1) 0) (fma64 1 1 0) <= chain (-1074) 53 [(-1, 1)] 0.
Proof. simpl. rewrite !(fma_whole _ _ _ 1), (fma_whole _ _ _ (-1)) by (simpl; lra || lia). unfold Rmin. destruct (Rle_dec 1 1); lra. Qed.
Fact backward_isotony_mutant : let two (w z : box) s := Rmin (fma64 (lower w) (lower z) s) (fma64 (upper w) (upper z) s) in
  inside {| lower := -1; upper := -1 |} around /\ ~ two around around 0 <= two {| lower := -1; upper := -1 |} around 0.
Proof.
  split; [boxes|]. simpl. rewrite !(fma_whole (-1) (-1) _ 1), (fma_whole 1 1 _ 1), (fma_whole (-1) 1 _ (-1)) by (simpl; lra || lia).
  unfold Rmin. destruct (Rle_dec 1 1), (Rle_dec 1 (-1)); lra.
Qed.
Fact relu_does_not_fall_mutant : ~ (forall S a b, a < b -> relu S a < relu S b).
Proof. intros H. specialize (H 1 (-1) 0 ltac:(lra)). revert H. unfold relu, Rmin, Rmax. destruct (Rle_dec (-1) 0), (Rle_dec 0 0), (Rle_dec 0 1); lra. Qed.
(* Where the gate may be open or shut, not the hull with 0. *)
Fact gate_inclusion_mutant : holds around (- 1 / 2) /\ ~ lower at_1 <= gate (- 1 / 2) 1.
Proof. split; [boxes|]. unfold gate. destruct (Rlt_dec 0 (- 1 / 2)); simpl; lra. Qed.
Fact gate_isotony_mutant : let wrong z s := if Rlt_dec 0 (upper z) then lower s else 0 in
  inside {| lower := -1; upper := -1 |} around /\ ~ wrong around at_1 <= wrong {| lower := -1; upper := -1 |} at_1.
Proof. split; [boxes|]. simpl. destruct (Rlt_dec 0 1), (Rlt_dec 0 (-1)); lra. Qed.
