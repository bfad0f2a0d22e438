(* Lemmas forward input, forward, ReLU, loss derivative, backward sum, gate, odd factors and entry of models/mathematics.md,
   one after the other (kernels/reference/operations.hpp, kernels/ops/loss_rule.hpp): what one record adds to every parameter
   of a network with one hidden layer, in rounded arithmetic without overflow (total map), and its bounds over a box of
   parameters. So it is a person of persons.v, and the boxes of its training hold every run. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core.
From Holdfast Require core_and_radius persons.
From Holdfast Require Import forward.
Import ListNotations.
Open Scope R_scope.

Section Format.
Variables emin prec : Z.
Context {Hprec : Prec_gt_0 prec}.
Notation fexp := (FLT_exp emin prec).
Notation format := (generic_format radix2 fexp).
Notation fl := (fl emin prec).
Notation fma := (fma emin prec).
Let le_fl := fl_does_not_fall emin prec.

(* make_odd of kernels/base/arithmetic.hpp: an even significand becomes the next, away from 0. *)
Definition even (x : R) : bool := Z.even (Ztrunc (scaled_mantissa radix2 fexp x)).
Definition odd (x : R) : R := if even x then if Rlt_dec 0 x then succ radix2 fexp x else if Rlt_dec x 0 then pred radix2 fexp x else 0 else x.
Lemma odd_above x : 0 <= x -> x <= odd x <= succ radix2 fexp x.
Proof.
  intros H. pose proof (succ_ge_id radix2 fexp x). unfold odd. destruct (even x); [|lra]. destruct (Rlt_dec 0 x); [lra|]. destruct (Rlt_dec x 0); lra.
Qed.
Lemma odd_below x : x <= 0 -> pred radix2 fexp x <= odd x <= x.
Proof.
  intros H. pose proof (pred_le_id radix2 fexp x). unfold odd. destruct (even x); [|lra]. destruct (Rlt_dec 0 x); [lra|]. destruct (Rlt_dec x 0); lra.
Qed.
Theorem odd_does_not_fall : forall x y, format x -> format y -> x <= y -> odd x <= odd y.
Proof.
  intros x y Fx Fy [H|<-]; [|lra]. destruct (Rle_dec x 0) as [X|X].
  - pose proof (odd_below x X). destruct (Rlt_dec 0 y) as [Y|Y]; [pose proof (odd_above y ltac:(lra)); lra|].
    pose proof (odd_below y ltac:(lra)). pose proof (pred_ge_gt radix2 fexp x y Fx Fy H). lra.
  - pose proof (odd_above x ltac:(lra)). pose proof (odd_above y ltac:(lra)). pose proof (succ_le_lt radix2 fexp x y Fx Fy H). lra.
Qed.

Definition clamp_to (L x : R) := Rmin (Rmax x (- L)) L.
Lemma clamp_le L x y : x <= y -> clamp_to L x <= clamp_to L y.
Proof. intros. apply Rle_min_compat_r, Rle_max_compat_r. assumption. Qed.
(* A factor of a clip by factors. What is clamped is a number of the format, which fl leaves alone. *)
Definition factor (L x : R) : R := odd (fl (clamp_to L x)).
Lemma factor_le L x y : x <= y -> factor L x <= factor L y.
Proof. intros H. apply odd_does_not_fall; try (apply generic_format_round; [apply FLT_exp_valid; assumption|apply valid_rnd_N]). apply le_fl, clamp_le, H. Qed.

(* ---- A box for every operation; a map of points and its map of boxes ---- *)
Notation holds := forward.holds. Notation inside := forward.inside. Notation proper := forward.proper.
Definition image (f : R -> R) (b : box) : box := {| lower := f (lower b); upper := f (upper b) |}.
Lemma image_holds f b x : (forall x y, x <= y -> f x <= f y) -> holds b x -> holds (image f b) (f x).
Proof. unfold forward.holds, image. cbn. intros F H. split; apply F; lra. Qed.
Lemma image_inside f a b : (forall x y, x <= y -> f x <= f y) -> inside a b -> inside (image f a) (image f b).
Proof. unfold forward.inside, image. cbn. intros F H. split; apply F; lra. Qed.
Lemma held_is_proper b x : holds b x -> proper b.
Proof. unfold forward.holds, forward.proper. lra. Qed.

(* forward_input: a point x of any sign *)
Fixpoint input_lower (terms : list (box * R)) (sum : R) : R :=
  match terms with [] => sum | (w, x) :: rest => input_lower rest (fma (if at_least0 x then lower w else upper w) x sum) end.
Fixpoint input_upper (terms : list (box * R)) (sum : R) : R :=
  match terms with [] => sum | (w, x) :: rest => input_upper rest (fma (if at_least0 x then upper w else lower w) x sum) end.
Lemma fma_le a b c a' b' c' : a * b <= a' * b' -> c <= c' -> fma a b c <= fma a' b' c'.
Proof. intros. apply le_fl. lra. Qed.
Theorem input_inclusion : forall terms boxes, Forall2 (fun t b => holds (fst b) (fst t) /\ snd b = snd t) terms boxes -> forall s b, holds b s ->
  input_lower boxes (lower b) <= chain emin prec terms s <= input_upper boxes (upper b).
Proof.
  intros terms boxes F. induction F as [|(w, x) (W, x') ts bs (Hw & E) F IH]; intros s b H; cbn [input_lower input_upper chain]; [exact H|]. cbn in Hw, E. subst x'.
  apply (IH (fma w x s) {| lower := fma (if at_least0 x then lower W else upper W) x (lower b); upper := fma (if at_least0 x then upper W else lower W) x (upper b) |}).
  unfold forward.holds in *. cbn. unfold at_least0. split; apply fma_le; try lra; destruct (Rle_dec 0 x); nra.
Qed.
Theorem input_isotony : forall small large, Forall2 (fun a b => inside (fst a) (fst b) /\ snd a = snd b) small large -> forall a b, inside a b ->
  input_lower large (lower b) <= input_lower small (lower a) /\ input_upper small (upper a) <= input_upper large (upper b).
Proof.
  intros small large F. induction F as [|(w, x) (W, x') ts bs (Hw & E) F IH]; intros a b H; cbn [input_lower input_upper]; [exact H|]. cbn in Hw, E. subst x'.
  apply (IH {| lower := fma (if at_least0 x then lower w else upper w) x (lower a); upper := fma (if at_least0 x then upper w else lower w) x (upper a) |}
    {| lower := fma (if at_least0 x then lower W else upper W) x (lower b); upper := fma (if at_least0 x then upper W else lower W) x (upper b) |}).
  unfold forward.inside in *. cbn. unfold at_least0. split; apply fma_le; try lra; destruct (Rle_dec 0 x); nra.
Qed.

(* inverse_probability and loss_derivative: the cross-entropy by one logit, the others in order *)
Variable exp' : R -> R.                                  (* monotone_exp *)
Hypothesis exp_rises : forall x y, x <= y -> exp' x <= exp' y.
Hypothesis exp_pos' : forall x, 0 <= exp' x.
Hypothesis one_is : fl 1 = 1.
Fixpoint inverse (own : R) (others : list R) (sum : R) : R := match others with [] => sum | z :: others => inverse own others (fl (sum + exp' (fl (z - own)))) end.
Definition derivative (wanted own : R) (others : list R) : R := fl (fl (1 / inverse own others 1) - wanted).
Lemma inverse_rises own own' others others' : own' <= own -> Forall2 Rle others others' -> forall s s', s <= s' -> inverse own others s <= inverse own' others' s'.
Proof.
  intros O F. induction F as [|z z' l l' H F IH]; intros s s' Hs; cbn [inverse]; [exact Hs|]. apply IH, le_fl. apply Rplus_le_compat; [exact Hs|]. apply exp_rises, le_fl. lra.
Qed.
Lemma inverse_pos own others : forall s, 1 <= s -> 1 <= inverse own others s.
Proof.
  induction others as [|z l IH]; intros s H; cbn [inverse]; [exact H|]. apply IH. rewrite <- one_is at 1. apply le_fl. pose proof (exp_pos' (fl (z - own))). lra.
Qed.
Theorem loss_derivative : forall wanted own own' others others', own <= own' -> Forall2 Rle others' others ->
  derivative wanted own others <= derivative wanted own' others'.
Proof.
  intros wanted own own' others others' H F. unfold derivative. apply le_fl. apply Rplus_le_compat_r, le_fl.
  pose proof (inverse_rises own' own others' others H F 1 1 (Rle_refl 1)) as I. pose proof (inverse_pos own' others' 1 (Rle_refl 1)).
  unfold Rdiv. rewrite !Rmult_1_l. apply Rinv_le_contravar; lra.
Qed.

(* clipped_entry. at_zero: the bias of the grid; a number on the grid is a whole number of units above it. *)
Variables (at_zero unit_of : R).
Hypothesis Hunit : 0 < unit_of.
Definition units (x : R) : Z := Zfloor ((x - at_zero) / unit_of).
Lemma units_le x y : x <= y -> (units x <= units y)%Z.
Proof. intros H. apply Zfloor_le. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact Hunit|lra]. Qed.
(* elementwise, or by factors of limits a and c; G: Gamma in units *)
Inductive clip := elementwise (G : Z) | factored (a c : R).
Definition cut (G : Z) (x : R) : R := Rmin (Rmax x (at_zero - IZR G * unit_of)) (at_zero + IZR G * unit_of).
Lemma cut_le G x y : x <= y -> cut G x <= cut G y.
Proof. intros. apply Rle_min_compat_r, Rle_max_compat_r. assumption. Qed.
(* bias: the entry of a bias, whose z is 1 and stays it *)
Definition entry (how : clip) (bias : bool) (delta z : R) : Z := match how with
  | elementwise G => units (cut G (fma delta z at_zero))
  | factored a c => units (fma (factor a delta) (if bias then z else factor c z) at_zero) end.
Definition entry_lower (how : clip) (bias : bool) (delta z : box) : Z := match how with
  | elementwise G => units (cut G (least4 emin prec delta z at_zero))
  | factored a c => units (least4 emin prec (image (factor a) delta) (if bias then z else image (factor c) z) at_zero) end.
Definition entry_upper (how : clip) (bias : bool) (delta z : box) : Z := match how with
  | elementwise G => units (cut G (greatest4 emin prec delta z at_zero))
  | factored a c => units (greatest4 emin prec (image (factor a) delta) (if bias then z else image (factor c) z) at_zero) end.
Theorem entry_inclusion : forall how bias delta z D Z, holds D delta -> holds Z z -> (entry_lower how bias D Z <= entry how bias delta z <= entry_upper how bias D Z)%Z.
Proof.
  intros [G|a c] bias delta z D Z HD HZ; cbn [entry entry_lower entry_upper].
  - split; apply units_le, cut_le; [apply least4_ok|apply greatest4_ok]; try assumption; apply Rle_refl.
  - pose proof (image_holds (factor a) D delta (factor_le a) HD). assert (holds (if bias then Z else image (factor c) Z) (if bias then z else factor c z)).
    { destruct bias; [assumption|]. apply image_holds; [apply factor_le|assumption]. }
    split; apply units_le; [apply least4_ok|apply greatest4_ok]; try assumption; apply Rle_refl.
Qed.
Lemma corners_nest (d z D Z : box) : inside d D -> inside z Z -> proper d -> proper z ->
  least4 emin prec D Z at_zero <= least4 emin prec d z at_zero /\ greatest4 emin prec d z at_zero <= greatest4 emin prec D Z at_zero.
Proof.
  intros A B P Q. exact (backward_isotony emin prec [(d, z)] [(D, Z)] ltac:(constructor; [repeat split; assumption || apply A || apply B|constructor])
    {| lower := at_zero; upper := at_zero |} {| lower := at_zero; upper := at_zero |} ltac:(split; apply Rle_refl)).
Qed.
Theorem entry_isotony : forall how bias d z D Z, inside d D -> inside z Z -> proper d -> proper z ->
  (entry_lower how bias D Z <= entry_lower how bias d z)%Z /\ (entry_upper how bias d z <= entry_upper how bias D Z)%Z.
Proof.
  intros [G|a c] bias d z D Z A B P Q; cbn [entry_lower entry_upper].
  - destruct (corners_nest d z D Z A B P Q). split; apply units_le, cut_le; assumption.
  - assert (A' : inside (image (factor a) d) (image (factor a) D)) by (apply image_inside; [apply factor_le|exact A]).
    assert (B' : inside (if bias then z else image (factor c) z) (if bias then Z else image (factor c) Z)) by (destruct bias; [exact B|apply image_inside; [apply factor_le|exact B]]).
    assert (P' : proper (image (factor a) d)) by (apply (factor_le a), P).
    assert (Q' : proper (if bias then z else image (factor c) z)) by (destruct bias; [exact Q|apply (factor_le c), Q]).
    destruct (corners_nest _ _ _ _ A' B' P' Q'). split; apply units_le; assumption.
Qed.
Lemma cut_bounded G x : (0 <= G)%Z -> (Z.abs (units (cut G x)) <= G)%Z.
Proof.
  intros HG. assert (0 <= IZR G) by (apply IZR_le; exact HG). assert (0 <= IZR G * unit_of) by (apply Rmult_le_pos; lra).
  assert (B : at_zero - IZR G * unit_of <= cut G x <= at_zero + IZR G * unit_of).
  { unfold cut. split; [apply Rmin_glb; [apply Rmax_r|lra]|apply Rmin_r]. }
  assert (- G <= units (cut G x))%Z.
  { unfold units. apply Zfloor_lub. rewrite opp_IZR. apply Rmult_le_reg_r with unit_of; [exact Hunit|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (units (cut G x) <= G)%Z; [|lia]. unfold units. apply Z.le_trans with (Zfloor (IZR G)); [|rewrite Zfloor_IZR; lia]. apply Zfloor_le. apply Rmult_le_reg_r with unit_of; [exact Hunit|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Theorem entry_bounded : forall G bias delta z D Z, (0 <= G)%Z -> (Z.abs (entry (elementwise G) bias delta z) <= G)%Z /\
  (Z.abs (entry_lower (elementwise G) bias D Z) <= G)%Z /\ (Z.abs (entry_upper (elementwise G) bias D Z) <= G)%Z.
Proof. intros. repeat split; apply cut_bounded; assumption. Qed.

(* ---- A network with one hidden layer ---- *)
Section Network.
Variables (ins hidden outs : nat) (S : R) (how : clip).
Hypothesis HS : 0 <= S.
(* parameter_value: of a number of units *)
Variable value : Z -> R.
Hypothesis value_rises : forall x y, (x <= y)%Z -> value x <= value y.
(* layer (true: the last one), unit, input; the input past the last is the bias *)
Definition parameter : Type := bool * nat * nat.
Notation point := (core_and_radius.point parameter). Notation params := (core_and_radius.box parameter).
Variables (x : nat -> R) (label : nat).          (* a record *)
Definition others (c : nat) : list nat := filter (fun j => negb (Nat.eqb j c)) (seq 0 outs).
Definition wanted (c : nat) : R := if Nat.eqb c label then 1 else 0.

Section AtAPoint.
Variable theta : point.
Definition w l u j : R := value (theta (l, u, j)).
Definition hidden_unit u : R := relu S (chain emin prec (map (fun j => (w false u j, x j)) (seq 0 ins)) (w false u ins)).
Definition logit c : R := chain emin prec (map (fun u => (w true c u, hidden_unit u)) (seq 0 hidden)) (w true c hidden).
Definition last_delta c : R := derivative (wanted c) (logit c) (map logit (others c)).
Definition hidden_delta u : R := clamp_to S (gate (hidden_unit u) (chain emin prec (map (fun c => (w true c u, last_delta c)) (seq 0 outs)) 0)).
Definition gradient (p : parameter) : Z := match p with
  | (true, c, u) => entry how (Nat.eqb u hidden) (last_delta c) (if Nat.eqb u hidden then 1 else hidden_unit u)
  | (false, u, j) => entry how (Nat.eqb j ins) (hidden_delta u) (if Nat.eqb j ins then 1 else x j) end.
End AtAPoint.

Definition at_point (y : R) : box := {| lower := y; upper := y |}.
Section OverABox.
Variable B : params.
Definition W l u j : box := {| lower := value (core_and_radius.tlo _ B (l, u, j)); upper := value (core_and_radius.thi _ B (l, u, j)) |}.
Definition hidden_box u : box := let terms := map (fun j => (W false u j, x j)) (seq 0 ins) in
  image (relu S) {| lower := input_lower terms (lower (W false u ins)); upper := input_upper terms (upper (W false u ins)) |}.
Definition logit_box c : box := let terms := map (fun u => (W true c u, hidden_box u)) (seq 0 hidden) in
  {| lower := forward_lower emin prec terms (lower (W true c hidden)); upper := forward_upper emin prec terms (upper (W true c hidden)) |}.
Definition last_delta_box c : box :=
  {| lower := derivative (wanted c) (lower (logit_box c)) (map (fun j => upper (logit_box j)) (others c));
     upper := derivative (wanted c) (upper (logit_box c)) (map (fun j => lower (logit_box j)) (others c)) |}.
Definition hidden_delta_box u : box := let terms := map (fun c => (W true c u, last_delta_box c)) (seq 0 outs) in
  let sum := {| lower := chain_lower emin prec terms 0; upper := chain_upper emin prec terms 0 |} in
  image (clamp_to S) {| lower := gate_lower (hidden_box u) sum; upper := gate_upper (hidden_box u) sum |}.
Definition gradient_lower (p : parameter) : Z := match p with
  | (true, c, u) => entry_lower how (Nat.eqb u hidden) (last_delta_box c) (if Nat.eqb u hidden then at_point 1 else hidden_box u)
  | (false, u, j) => entry_lower how (Nat.eqb j ins) (hidden_delta_box u) (if Nat.eqb j ins then at_point 1 else at_point (x j)) end.
Definition gradient_upper (p : parameter) : Z := match p with
  | (true, c, u) => entry_upper how (Nat.eqb u hidden) (last_delta_box c) (if Nat.eqb u hidden then at_point 1 else hidden_box u)
  | (false, u, j) => entry_upper how (Nat.eqb j ins) (hidden_delta_box u) (if Nat.eqb j ins then at_point 1 else at_point (x j)) end.
End OverABox.

Lemma each {A C D : Type} (Q : C -> D -> Prop) (f : A -> C) (g : A -> D) l : (forall i, Q (f i) (g i)) -> Forall2 Q (map f l) (map g l).
Proof. intros H. induction l; cbn; constructor; auto. Qed.
Lemma relu_pos y : 0 <= relu S y.
Proof. unfold relu. apply Rmin_glb; [apply Rmax_r|exact HS]. Qed.
Lemma point_held y : holds (at_point y) y.
Proof. unfold forward.holds. cbn. lra. Qed.
Lemma point_inside y : inside (at_point y) (at_point y).
Proof. unfold forward.inside. lra. Qed.

Section Inclusion.
Variables (B : params) (theta : point).
Hypothesis H : core_and_radius.holds _ B theta.
Lemma w_held l u j : holds (W B l u j) (w theta l u j).
Proof. destruct (H (l, u, j)). unfold forward.holds, W, w. cbn. split; apply value_rises; assumption. Qed.
Lemma hidden_held u : holds (hidden_box B u) (hidden_unit theta u).
Proof. apply image_holds; [intros; apply relu_does_not_fall; assumption|]. apply input_inclusion; [|apply w_held]. apply each. intros j. split; [apply w_held|reflexivity]. Qed.
Lemma hidden_lower_pos u : 0 <= lower (hidden_box B u).
Proof. apply relu_pos. Qed.
Lemma logit_held c : holds (logit_box B c) (logit theta c).
Proof.
  assert (F : Forall2 term_in (map (fun u => (w theta true c u, hidden_unit theta u)) (seq 0 hidden)) (map (fun u => (W B true c u, hidden_box B u)) (seq 0 hidden))).
  { apply each. intros u. split; [apply w_held|]. split; [apply hidden_held|apply hidden_lower_pos]. }
  exact (forward_inclusion emin prec _ _ F _ _ (w_held true c hidden)).
Qed.
Lemma last_delta_held c : holds (last_delta_box B c) (last_delta theta c).
Proof. destruct (logit_held c). split; apply loss_derivative; try assumption; apply each; intros j; destruct (logit_held j); assumption. Qed.
Lemma sum_held u : holds {| lower := chain_lower emin prec (map (fun c => (W B true c u, last_delta_box B c)) (seq 0 outs)) 0;
  upper := chain_upper emin prec (map (fun c => (W B true c u, last_delta_box B c)) (seq 0 outs)) 0 |} (chain emin prec (map (fun c => (w theta true c u, last_delta theta c)) (seq 0 outs)) 0).
Proof.
  refine (backward_inclusion emin prec _ _ _ 0 (at_point 0) (point_held 0)). apply each. intros c. split; [apply w_held|apply last_delta_held].
Qed.
Lemma hidden_delta_held u : holds (hidden_delta_box B u) (hidden_delta theta u).
Proof.
  apply image_holds; [intros; apply clamp_le; assumption|]. apply gate_inclusion; [apply hidden_held|].
  apply (sum_held u).
Qed.
Theorem network_inclusion : forall p, (gradient_lower B p <= gradient theta p <= gradient_upper B p)%Z.
Proof.
  intros (([] & u) & j); cbn [gradient gradient_lower gradient_upper]; apply entry_inclusion;
    try apply last_delta_held; try apply hidden_delta_held; destruct (Nat.eqb _ _); try apply point_held; apply hidden_held.
Qed.
End Inclusion.

Section Isotony.
Variables A B : params.
Hypothesis P : core_and_radius.proper _ A.
Hypothesis I : core_and_radius.inside _ A B.
Lemma corner_held : core_and_radius.holds _ A (core_and_radius.tlo _ A).
Proof. intros p. specialize (P p). lia. Qed.
Lemma W_inside l u j : inside (W A l u j) (W B l u j).
Proof. destruct (I (l, u, j)). split; apply value_rises; assumption. Qed.
Lemma hidden_inside u : inside (hidden_box A u) (hidden_box B u).
Proof. apply image_inside; [intros; apply relu_does_not_fall; assumption|]. apply input_isotony; [|apply W_inside]. apply each. intros j. split; [apply W_inside|reflexivity]. Qed.
Lemma logit_inside c : inside (logit_box A c) (logit_box B c).
Proof.
  assert (F : Forall2 boxes_in (map (fun u => (W A true c u, hidden_box A u)) (seq 0 hidden)) (map (fun u => (W B true c u, hidden_box B u)) (seq 0 hidden))).
  { apply each. intros u. split; [apply W_inside|]. split; [apply hidden_inside|].
    split; [eapply held_is_proper; apply w_held, corner_held|]. split; [eapply held_is_proper; apply hidden_held, corner_held|apply hidden_lower_pos]. }
  exact (forward_isotony emin prec _ _ F _ _ (W_inside true c hidden)).
Qed.
Lemma last_delta_inside c : inside (last_delta_box A c) (last_delta_box B c).
Proof. destruct (logit_inside c). split; apply loss_derivative; try assumption; apply each; intros j; destruct (logit_inside j); assumption. Qed.
Lemma hidden_delta_inside u : inside (hidden_delta_box A u) (hidden_delta_box B u).
Proof.
  apply image_inside; [intros; apply clamp_le; assumption|]. apply gate_isotony; [apply hidden_inside| |eapply held_is_proper; apply hidden_held, corner_held|].
  - refine (backward_isotony emin prec _ _ _ (at_point 0) (at_point 0) (point_inside 0)).
    apply each. intros c. split; [apply W_inside|]. split; [apply last_delta_inside|].
    split; eapply held_is_proper; [apply w_held|apply last_delta_held]; apply corner_held.
  - eapply held_is_proper. apply sum_held, corner_held.
Qed.
Theorem network_isotony : forall p, (gradient_lower B p <= gradient_lower A p /\ gradient_upper A p <= gradient_upper B p)%Z.
Proof.
  assert (HD : forall u, proper (hidden_delta_box A u)) by (intros; eapply held_is_proper; apply hidden_delta_held, corner_held).
  assert (LD : forall c, proper (last_delta_box A c)) by (intros; eapply held_is_proper; apply last_delta_held, corner_held).
  assert (HU : forall u, proper (hidden_box A u)) by (intros; eapply held_is_proper; apply hidden_held, corner_held).
  assert (PP : forall y, proper (at_point y)) by (intros y; unfold forward.proper; cbn; lra).
  intros (([] & u) & j); cbn [gradient_lower gradient_upper]; apply entry_isotony; auto using last_delta_inside, hidden_delta_inside;
    destruct (Nat.eqb _ _); auto using point_inside, hidden_inside.
Qed.
End Isotony.
End Network.

(* So a record is a person of one row, and the boxes of a training by epochs hold every run and nest. *)
Section Training.
Variables (ins hidden outs : nat) (S : R) (G : Z) (value : Z -> R).
Hypothesis HS : 0 <= S.
Hypothesis HG : (0 <= G)%Z.
Hypothesis value_rises : forall x y, (x <= y)%Z -> value x <= value y.
Variable epoch : nat -> nat.
Record record := { features : nat -> R; label_of : nat; steps : core_and_radius.schedule }.
Definition person_of (r : record) : persons.person parameter :=
  {| persons.acts := steps r; persons.rows := 1; persons.entry := fun _ _ => gradient ins hidden outs S (elementwise G) value (features r) (label_of r);
     persons.least := fun _ _ => gradient_lower ins hidden outs S (elementwise G) value (features r) (label_of r);
     persons.greatest := fun _ _ => gradient_upper ins hidden outs S (elementwise G) value (features r) (label_of r) |}.
Theorem record_is_a_person : forall r, core_and_radius.once epoch (steps r) -> persons.sound parameter epoch (fun _ => G) (person_of r).
Proof.
  intros r O. assert (Part : persons.part_of G 1 = G) by (unfold persons.part_of, persons.weight; rewrite Z.div_1_r, Z.div_mul; lia).
  assert (Bound : forall theta B p, (Z.abs (gradient ins hidden outs S (elementwise G) value (features r) (label_of r) theta p) <= G /\
    Z.abs (gradient_lower ins hidden outs S (elementwise G) value (features r) (label_of r) B p) <= G /\
    Z.abs (gradient_upper ins hidden outs S (elementwise G) value (features r) (label_of r) B p) <= G)%Z).
  { intros theta B (([] & u) & j); cbn [gradient gradient_lower gradient_upper entry entry_lower entry_upper]; split; [apply cut_bounded; exact HG|split; apply cut_bounded; exact HG|apply cut_bounded; exact HG|split; apply cut_bounded; exact HG]. }
  split; [exact O|]. split; [apply Nat.le_refl|]. cbn [person_of persons.rows persons.entry persons.least persons.greatest]. rewrite Part.
  split; [intros _ _ theta p _; apply (Bound theta {| core_and_radius.tlo := theta; core_and_radius.thi := theta |} p)|].
  split; [intros _ _ B p _; apply (Bound (fun _ => 0%Z) B p)|].
  split; [intros _ _ B theta p H; apply network_inclusion; assumption|intros _ _ A B p P I; apply network_isotony; assumption].
Qed.
End Training.
End Format.

(* ---- Examples in double precision, and wrong statements refuted ---- *)
#[local] Instance double_here : Prec_gt_0 53 := eq_refl.
Lemma one_double : fl (-1074) 53 1 = 1.
Proof. exact (whole 1 eq_refl). Qed.
Lemma half_double : fl (-1074) 53 (/ 2) = / 2.
Proof. apply round_generic; [apply valid_rnd_N|]. apply generic_format_FLT. exists (Float radix2 1 (-1)); [unfold F2R; simpl; lra|reflexivity|simpl; lia]. Qed.
Lemma double_format n : (Z.abs n < 2 ^ 53)%Z -> generic_format radix2 (FLT_exp (-1074) 53) (IZR n).
Proof. intros H. rewrite <- (whole n H). apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.
Example odd_does_not_fall_example : odd (-1074) 53 1 <= odd (-1074) 53 2.
Proof. apply (odd_does_not_fall (-1074) 53); [apply double_format; exact eq_refl|apply double_format; exact eq_refl|lra]. Qed.
Definition wide := {| lower := -1; upper := 1 |}.
Definition at_0 := {| lower := 0; upper := 0 |}.
Ltac in_boxes := unfold forward.holds, forward.inside, forward.proper; cbn; lra.
Example input_inclusion_example : input_lower (-1074) 53 [(wide, -2)] 0 <= chain (-1074) 53 [(/ 2, -2)] 0 <= input_upper (-1074) 53 [(wide, -2)] 0.
Proof. apply (input_inclusion (-1074) 53) with (b := at_0); [constructor; [split; [in_boxes|reflexivity]|constructor]|in_boxes]. Qed.
Example input_isotony_example : input_lower (-1074) 53 [(wide, -2)] 0 <= input_lower (-1074) 53 [(at_0, -2)] 0 /\ input_upper (-1074) 53 [(at_0, -2)] 0 <= input_upper (-1074) 53 [(wide, -2)] 0.
Proof. apply (input_isotony (-1074) 53) with (a := at_0) (b := at_0); [constructor; [split; [in_boxes|reflexivity]|constructor]|in_boxes]. Qed.
Lemma exp_does_not_fall x y : x <= y -> exp x <= exp y.
Proof. intros [H|<-]; [left; apply exp_increasing; exact H|lra]. Qed.
Lemma exp_not_negative x : 0 <= exp x.
Proof. left. apply exp_pos. Qed.
Example loss_derivative_example : derivative (-1074) 53 exp 1 (-1) [3; 4] <= derivative (-1074) 53 exp 1 2 [3; 0].
Proof. apply (loss_derivative (-1074) 53); [apply exp_does_not_fall|apply exp_not_negative|exact one_double|lra|repeat constructor; lra]. Qed.
Example entry_inclusion_example : (entry_lower (-1074) 53 0 1 (factored 4 8) false wide wide <= entry (-1074) 53 0 1 (factored 4 8) false (/ 2) (/ 3) <= entry_upper (-1074) 53 0 1 (factored 4 8) false wide wide)%Z.
Proof. apply (entry_inclusion (-1074) 53); [lra|in_boxes|in_boxes]. Qed.
Example entry_isotony_example : (entry_lower (-1074) 53 0 1 (elementwise 3) false wide wide <= entry_lower (-1074) 53 0 1 (elementwise 3) false at_0 wide /\
  entry_upper (-1074) 53 0 1 (elementwise 3) false at_0 wide <= entry_upper (-1074) 53 0 1 (elementwise 3) false wide wide)%Z.
Proof. apply (entry_isotony (-1074) 53); [lra|in_boxes..]. Qed.
(* two features of 3, two hidden units, three classes; parameters in [-2, 1] *)
Definition cube : core_and_radius.box parameter := {| core_and_radius.tlo := fun _ => (-2)%Z; core_and_radius.thi := fun _ => 1%Z |}.
Definition ones : core_and_radius.box parameter := {| core_and_radius.tlo := fun _ => 1%Z; core_and_radius.thi := fun _ => 1%Z |}.
Example network_inclusion_example : forall p, (gradient_lower (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 cube p <=
  gradient (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 (fun _ => 0%Z) p <= gradient_upper (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 cube p)%Z.
Proof. apply (network_inclusion (-1074) 53); [apply exp_does_not_fall|apply exp_not_negative|exact one_double|lra|lra|intros; apply IZR_le; assumption|intros p; cbn; lia]. Qed.
Example network_isotony_example : forall p, (gradient_lower (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 cube p <= gradient_lower (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 ones p /\
  gradient_upper (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 ones p <= gradient_upper (-1074) 53 exp 0 1 2 2 3 100 (elementwise 9) IZR (fun _ => 3%R) 1 cube p)%Z.
Proof. apply (network_isotony (-1074) 53); [apply exp_does_not_fall|apply exp_not_negative|exact one_double|lra|lra|intros; apply IZR_le; assumption|intros p; cbn; lia|intros p; cbn; lia]. Qed.
Definition some_record : record := {| features := fun _ => 3; label_of := 1; steps := core_and_radius.acts_at 1 |}.
Example record_is_a_person_example : persons.sound parameter core_and_radius.first_steps (fun _ => 9%Z) (person_of (-1074) 53 exp 0 1 2 2 3 100 9 IZR some_record).
Proof. apply (record_is_a_person (-1074) 53); [apply exp_does_not_fall|apply exp_not_negative|exact one_double|lra|lra|lia|intros; apply IZR_le; assumption|apply core_and_radius.acts_once]. Qed.

(* 1 and the next number have the same odd one. *)
Lemma even_from_1 n : (2 ^ 52 <= n < 2 ^ 53)%Z -> cexp radix2 (FLT_exp (-1074) 53) (IZR n * bpow radix2 (-52)) = (-52)%Z /\ even (-1074) 53 (IZR n * bpow radix2 (-52)) = Z.even n.
Proof.
  intros (A & B). apply IZR_le in A. apply IZR_lt in B. pose proof (bpow_gt_0 radix2 (-52)) as P.
  assert (M : cexp radix2 (FLT_exp (-1074) 53) (IZR n * bpow radix2 (-52)) = (-52)%Z).
  { unfold cexp. rewrite (mag_unique_pos radix2 _ 1); [reflexivity|]. split.
    - apply Rle_trans with (IZR (2 ^ 52) * bpow radix2 (-52)); [simpl; lra|apply Rmult_le_compat_r; lra].
    - apply Rlt_le_trans with (IZR (2 ^ 53) * bpow radix2 (-52)); [apply Rmult_lt_compat_r; lra|simpl; lra]. }
  split; [exact M|]. unfold even, scaled_mantissa. rewrite M, Rmult_assoc, <- bpow_plus, Rmult_1_r, Ztrunc_IZR. reflexivity.
Qed.
Fact odd_does_not_fall_mutant : ~ (forall x y, x < y -> odd (-1074) 53 x < odd (-1074) 53 y).
Proof.
  intros H. pose proof (bpow_gt_0 radix2 (-52)) as P. pose proof (even_from_1 (2 ^ 52) ltac:(lia)) as (M & E). pose proof (even_from_1 (2 ^ 52 + 1) ltac:(lia)) as (_ & E').
  set (x := IZR (2 ^ 52) * bpow radix2 (-52)) in *. set (y := IZR (2 ^ 52 + 1) * bpow radix2 (-52)) in *.
  assert (X : 0 < x) by (apply Rmult_lt_0_compat; [apply IZR_lt; reflexivity|exact P]).
  assert (Y : y = x + bpow radix2 (-52)) by (unfold x, y; rewrite plus_IZR; ring).
  specialize (H x y ltac:(lra)). unfold odd in H. rewrite E, E' in H. change (Z.even (2 ^ 52)) with true in H. change (Z.even (2 ^ 52 + 1)) with false in H. cbv iota in H.
  destruct (Rlt_dec 0 x); [|lra]. rewrite succ_eq_pos, ulp_neq_0, M in H by lra. lra.
Qed.
(* The lower weight, whatever the sign of the feature. *)
Fact input_inclusion_mutant : ~ fma (-1074) 53 (-1) (-1) 0 <= chain (-1074) 53 [(1, -1)] 0.
Proof. cbn [chain]. rewrite (fma_whole _ _ _ 1), (fma_whole _ _ _ (-1)) by (lra || exact eq_refl). lra. Qed.
Fact input_isotony_mutant : ~ input_lower (-1074) 53 [(at_0, 1)] 0 <= input_lower (-1074) 53 [(wide, 1)] 0.
Proof.
  cbn [input_lower]. unfold at_least0. destruct (Rle_dec 0 1); [|lra]. cbn. rewrite (fma_whole _ _ _ 0), (fma_whole _ _ _ (-1)) by (lra || exact eq_refl). lra.
Qed.
(* The other logits at the same end as its own. A steep function stands for exp here. *)
Definition steep (x : R) : R := if Rlt_dec x 0 then 0 else 1.
Lemma steep_below : derivative (-1074) 53 steep 0 0 [-1] = 1.
Proof.
  unfold derivative. cbn [inverse]. replace (-1 - 0) with (-1) by ring. rewrite (whole (-1) eq_refl). unfold steep. destruct (Rlt_dec (-1) 0); [|lra].
  rewrite Rplus_0_r, one_double. replace (1 / 1) with 1 by field. rewrite one_double, Rminus_0_r. exact one_double.
Qed.
Lemma steep_level : derivative (-1074) 53 steep 0 0 [0] = / 2.
Proof.
  unfold derivative. cbn [inverse]. replace (0 - 0) with 0 by ring. rewrite (whole 0 eq_refl). unfold steep. destruct (Rlt_dec 0 0); [lra|].
  replace (1 + 1) with 2 by ring. rewrite (whole 2 eq_refl). replace (1 / 2) with (/ 2) by field. rewrite half_double, Rminus_0_r. exact half_double.
Qed.
Fact loss_derivative_mutant : ~ derivative (-1074) 53 steep 0 0 [-1] <= derivative (-1074) 53 steep 0 0 [0].
Proof. rewrite steep_below, steep_level. lra. Qed.
(* One corner for all: delta = -1 and z in [0, 1]. *)
Lemma units_at x n : x = IZR n -> (-9 <= n <= 9)%Z -> units 0 1 (cut 0 1 9 x) = n.
Proof.
  intros -> (A & B). apply IZR_le in A, B. assert (E : cut 0 1 9 (IZR n) = IZR n).
  { unfold cut. rewrite Rmax_left, Rmin_left by lra. reflexivity. }
  rewrite E. unfold units. replace ((IZR n - 0) / 1) with (IZR n) by field. apply Zfloor_IZR.
Qed.
Lemma entry_at n delta z : delta * z = IZR n -> (-9 <= n <= 9)%Z -> entry (-1074) 53 0 1 (elementwise 9) false delta z = n.
Proof. intros E (A & B). cbn [entry]. rewrite (fma_whole _ _ _ n) by (lra || lia). apply units_at; [reflexivity|lia]. Qed.
Lemma steep_rises x y : x <= y -> steep x <= steep y.
Proof. unfold steep. intros. destruct (Rlt_dec x 0), (Rlt_dec y 0); lra. Qed.
Lemma steep_pos x : 0 <= steep x.
Proof. unfold steep. destruct (Rlt_dec x 0); lra. Qed.
Fact entry_inclusion_mutant : ~ (entry (-1074) 53 0 1 (elementwise 9) false (-1) 0 <= entry (-1074) 53 0 1 (elementwise 9) false (-1) 1)%Z.
Proof. rewrite (entry_at 0), (entry_at (-1)) by (lra || lia). lia. Qed.
(* An empty box: boxes within boxes must hold something, or their entries do not nest. *)
Fact entry_isotony_mutant : let empty := {| lower := 2; upper := -2 |} in let at_1 := {| lower := 1; upper := 1 |} in
  inside empty at_0 /\ ~ (entry_upper (-1074) 53 0 1 (elementwise 9) false empty at_1 <= entry_upper (-1074) 53 0 1 (elementwise 9) false at_0 at_1)%Z.
Proof.
  intros empty at_1. split; [in_boxes|]. cbn [entry_upper]. unfold greatest4. cbn [lower upper empty at_1 at_0].
  rewrite (fma_whole 2 1 0 2), (fma_whole (-2) 1 0 (-2)), (fma_whole 0 1 0 0) by (lra || exact eq_refl).
  rewrite (Rmax_left 2 2), (Rmax_left (-2) (-2)), (Rmax_left 2 (-2)), !(Rmax_left 0 0) by lra.
  rewrite (units_at 2 2), (units_at 0 0) by (lra || lia). lia.
Qed.
(* No hidden unit, two classes: the logits are the biases. A point outside the box; the larger box within the smaller. *)
Definition biases (b : Z) : core_and_radius.point parameter := fun p => match p with (_, 1%nat, _) => b | _ => 0%Z end.
Definition of_biases (p : core_and_radius.point parameter) : Z := gradient (-1074) 53 steep 0 1 0 0 2 100 (elementwise 9) IZR (fun _ => 3%R) 1 p (true, 0%nat, 0%nat).
Lemma at_minus_1 : of_biases (biases (-1)) = 1%Z.
Proof.
  unfold of_biases. cbn [gradient]. unfold last_delta, logit, w, wanted, others. cbn [seq map filter negb Nat.eqb biases chain].
  rewrite steep_below. cbn [entry]. rewrite (fma_whole 1 1 0 1) by (lra || exact eq_refl). apply (units_at _ 1); lra || lia.
Qed.
Lemma at_level : of_biases (biases 0) = 0%Z.
Proof.
  unfold of_biases. cbn [gradient]. unfold last_delta, logit, w, wanted, others. cbn [seq map filter negb Nat.eqb biases chain].
  rewrite steep_level. cbn [entry]. unfold fma. replace (/ 2 * 1 + 0) with (/ 2) by ring. rewrite half_double. unfold cut, units, Rmin, Rmax.
  destruct (Rle_dec (/ 2) (0 - 9 * 1)); [lra|]. destruct (Rle_dec (/ 2) (0 + 9 * 1)); [|lra]. apply Zfloor_imp. simpl. lra.
Qed.
Fact network_inclusion_mutant : ~ (forall p q, (of_biases p <= of_biases q)%Z).
Proof. intros H. specialize (H (biases (-1)) (biases 0)). rewrite at_minus_1, at_level in H. lia. Qed.
Fact network_isotony_mutant : let A := {| core_and_radius.tlo := biases (-1); core_and_radius.thi := biases 0 |} in let B := {| core_and_radius.tlo := biases 0; core_and_radius.thi := biases 0 |} in
  ~ (gradient_upper (-1074) 53 steep 0 1 0 0 2 100 (elementwise 9) IZR (fun _ => 3%R) 1 A (true, 0%nat, 0%nat) <= gradient_upper (-1074) 53 steep 0 1 0 0 2 100 (elementwise 9) IZR (fun _ => 3%R) 1 B (true, 0%nat, 0%nat))%Z.
Proof.
  intros A B.
  assert (U : (1 <= gradient_upper (-1074) 53 steep 0 1 0 0 2 100 (elementwise 9) IZR (fun _ => 3%R) 1 A (true, 0%nat, 0%nat))%Z).
  { pose proof (network_inclusion (-1074) 53 steep steep_rises steep_pos one_double 0 1 Rlt_0_1 0 0 2 100 (elementwise 9) ltac:(lra) IZR IZR_le (fun _ => 3%R) 1 A (biases (-1))
      ltac:(intros (([] & [|[|u]]) & j); cbn; lia) (true, 0%nat, 0%nat)) as (_ & U). fold (of_biases (biases (-1))) in U. rewrite at_minus_1 in U. exact U. }
  assert (E : gradient_upper (-1074) 53 steep 0 1 0 0 2 100 (elementwise 9) IZR (fun _ => 3%R) 1 B (true, 0%nat, 0%nat) = 0%Z); [|lia].
  cbn [gradient_upper]. unfold last_delta_box, logit_box, W, wanted, others. cbn [seq map filter negb Nat.eqb biases forward_lower forward_upper core_and_radius.tlo core_and_radius.thi B lower upper].
  rewrite steep_level. cbn [entry_upper]. unfold greatest4, at_point. cbn [lower upper]. unfold fma. replace (/ 2 * 1 + 0) with (/ 2) by ring. rewrite half_double.
  rewrite !(Rmax_left (/ 2) (/ 2)) by lra. unfold cut, units. rewrite Rmax_left, Rmin_left by lra. apply Zfloor_imp. simpl. lra.
Qed.
(* Twice an epoch. *)
Fact record_is_a_person_mutant : ~ persons.sound parameter core_and_radius.first_steps (fun _ => 9%Z)
  (person_of (-1074) 53 exp 0 1 2 2 3 100 9 IZR {| features := fun _ => 3; label_of := 1; steps := fun _ => true |}).
Proof. intros (O & _). specialize (O 1%nat 2%nat eq_refl eq_refl eq_refl). discriminate. Qed.
Example entry_bounded_example : (Z.abs (entry (-1074) 53 0 1 (elementwise 9) false 4 4) <= 9)%Z.
Proof. apply (entry_bounded (-1074) 53 0 1 Rlt_0_1 9 false 4 4 wide wide). lia. Qed.
(* Not cut. *)
Fact entry_bounded_mutant : ~ (Z.abs (units 0 1 (fma (-1074) 53 4 4 0)) <= 9)%Z.
Proof. rewrite (fma_whole 4 4 0 16) by (lra || exact eq_refl). unfold units. replace ((16 - 0) / 1) with (IZR 16) by field. rewrite Zfloor_IZR. lia. Qed.
