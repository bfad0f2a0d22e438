(* Lemma update rule, theorems core and radius, enclosure and nesting, and both budgets, of models/mathematics.md, over the
   integers, roundings and limits included (models/training/update_rule.hpp, models/boxes/charges.cpp): any number of
   parameters, each with a Gamma of its own, k changed records, any steps and epochs.

   First what is said of any optimiser whose step keeps order and whose differences are bounded by a radius; then plain
   descent is shown to be one. momentum.v adds others. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core.
Import ListNotations.
Open Scope Z_scope.

(* What an optimiser keeps of a parameter: itself and a slot (the velocity; 0 where there is none). *)
Definition state : Type := Z * Z.
Definition le (x y : state) := fst x <= fst y /\ snd x <= snd y.
Definition add (x y : state) : state := (fst x + fst y, snd x + snd y).
Definition pmax (x y : state) : state := (Z.max (fst x) (fst y), Z.max (snd x) (snd y)).
Definition apart (x y : state) : state := (Z.abs (fst x - fst y), Z.abs (snd x - snd y)).
Definition beyond (x y : state) : state := (Z.max 0 (fst x - fst y), Z.max 0 (snd x - snd y)).
Definition zero : state := (0, 0).
Definition both (a : Z) : state := (a, a).
Definition times (n : nat) (x : state) : state := (Z.of_nat n * fst x, Z.of_nat n * snd x).
Ltac states := unfold le, add, pmax, apart, beyond, zero, both, times in *; cbn [fst snd] in *.
Lemma le_trans x y z : le x y -> le y z -> le x z.
Proof. states. lia. Qed.
Lemma le_refl x : le x x.
Proof. states. lia. Qed.
Lemma apart_self x : apart x x = zero.
Proof. states. rewrite !Z.sub_diag. reflexivity. Qed.
Lemma beyond_self x : beyond x x = zero.
Proof. states. rewrite !Z.sub_diag. reflexivity. Qed.
Definition within (L : Z) (x : state) := le (both (- L)) x /\ le x (both L).
Lemma apart_within L x y : within L x -> within L y -> le zero (apart x y) /\ le (apart x y) (both (2 * L)).
Proof. unfold within. destruct x, y. states. lia. Qed.
Lemma beyond_within L x y : within L x -> within L y -> le zero (beyond x y) /\ le (beyond x y) (both (2 * L)).
Proof. unfold within. destruct x, y. states. lia. Qed.
(* what lies in a box, widened and clamped *)
Definition clamp (L x : Z) := Z.min (Z.max x (- L)) L.
Lemma widened_holds L l h f x u : - L <= x <= L -> l <= f <= h -> Z.abs (x - f) <= u -> clamp L (l - u) <= x <= clamp L (h + u).
Proof. unfold clamp. lia. Qed.
Lemma widened_nests L g g' u w : 0 <= w -> Z.max 0 (g' - g) <= w -> clamp L (g' + u) <= clamp L (g + (u + w)).
Proof. unfold clamp. lia. Qed.
Lemma widened_nests_below L g g' u w : 0 <= w -> Z.max 0 (g - g') <= w -> clamp L (g - (u + w)) <= clamp L (g' - u).
Proof. unfold clamp. lia. Qed.

(* A changed record: the steps in which it acts, at most one of an epoch. *)
Section Schedules.
Variable epoch : nat -> nat.                  (* of step t *)
Definition schedule : Type := nat -> bool.
Definition once (s : schedule) := forall t u, s t = true -> s u = true -> epoch t = epoch u -> t = u.
Definition acting (rs : list schedule) t : nat := length (filter (fun s => s t) rs).
End Schedules.

(* ---- Responses: the greatest of an epoch bounds that of whichever step a record acts in. ---- *)
Section Responses.
Variables (epoch : nat -> nat) (E : nat) (cap : Z).
Hypothesis HE : forall t, (epoch t < E)%nat.
(* what is left of a response after step t, and what a record that acts in it adds *)
Variables (A : nat -> state -> state) (I : nat -> state).
Hypothesis A_zero : forall t, A t zero = zero.
Hypothesis A_mono : forall t r s, le r s -> le (A t r) (A t s).
Hypothesis A_add : forall t r s, le zero r -> le zero s -> le (A t (add r s)) (add (A t r) (A t s)).
Hypothesis I_pos : forall t, le zero (I t).
Definition impulse_in (e t : nat) : state := if Nat.eqb (epoch t) e then I t else zero.
(* advance() *)
Fixpoint greatest (e t : nat) : state := match t with O => zero | S t => pmax (A t (greatest e t)) (impulse_in e t) end.
Fixpoint upto (f : nat -> state) (n : nat) : state := match n with O => zero | S m => add (upto f m) (f m) end.
Definition radius_of_steps t : Z := Z.min (fst (upto (fun e => greatest e t) E)) cap.

Fixpoint response (s : schedule) (e t : nat) : state :=
  match t with O => zero | S t => add (A t (response s e t)) (if s t then impulse_in e t else zero) end.
Definition left_of (s : schedule) t := upto (fun e => response s e t) E.
Fixpoint all (rs : list schedule) t : state := match rs with [] => zero | s :: rs => add (left_of s t) (all rs t) end.

Lemma A_pos t r : le zero r -> le zero (A t r).
Proof. intros H. rewrite <- (A_zero t). apply A_mono. exact H. Qed.
Lemma impulse_pos e t : le zero (impulse_in e t).
Proof. unfold impulse_in. destruct (Nat.eqb _ _); [apply I_pos|states; lia]. Qed.
Lemma response_pos s e t : le zero (response s e t).
Proof. induction t; simpl; [states; lia|]. pose proof (A_pos t _ IHt). pose proof (impulse_pos e t). destruct (s t); states; lia. Qed.
Lemma not_yet s e t : (forall u, (u < t)%nat -> s u = true -> epoch u <> e) -> response s e t = zero.
Proof.
  induction t; simpl; intros H; [reflexivity|]. rewrite IHt by (intros; apply H; [lia|assumption]). rewrite A_zero.
  destruct (s t) eqn:S; [|reflexivity]. unfold impulse_in. destruct (Nat.eqb_spec (epoch t) e) as [Q|]; [|reflexivity].
  exfalso. apply (H t); auto.
Qed.
Lemma response_bounded s e t : once epoch s -> le (response s e t) (greatest e t).
Proof.
  intros O. induction t; simpl; [states; lia|]. pose proof (A_mono t _ _ IHt). pose proof (A_pos t _ (response_pos s e t)).
  pose proof (impulse_pos e t). destruct (s t) eqn:S; [|states; lia]. unfold impulse_in in *. destruct (Nat.eqb_spec (epoch t) e) as [Q|]; [|states; lia].
  rewrite not_yet; [rewrite A_zero; states; lia|]. intros u Hu Su Eu. assert (u = t) by (apply O; congruence). lia.
Qed.
Lemma upto_le f g n : (forall e, le (f e) (g e)) -> le (upto f n) (upto g n).
Proof. intros H. induction n; simpl; [states; lia|]. specialize (H n). states. lia. Qed.
Lemma upto_pos f n : (forall e, le zero (f e)) -> le zero (upto f n).
Proof. intros H. induction n; simpl; [states; lia|]. specialize (H n). states. lia. Qed.
Lemma A_upto t f n : (forall e, le zero (f e)) -> le (A t (upto f n)) (upto (fun e => A t (f e)) n).
Proof. intros H. induction n; simpl; [rewrite A_zero; states; lia|]. pose proof (A_add t (upto f n) (f n) (upto_pos _ _ H) (H n)). states. lia. Qed.
Lemma upto_add f g n : upto (fun e => add (f e) (g e)) n = add (upto f n) (upto g n).
Proof. induction n; simpl; [reflexivity|]. rewrite IHn. states. f_equal; lia. Qed.
Lemma upto_impulse t n : (epoch t < n)%nat -> upto (fun e => impulse_in e t) n = I t.
Proof.
  assert (Z0 : forall m, (m <= epoch t)%nat -> upto (fun e => impulse_in e t) m = zero).
  { induction m; simpl; intros Hm; [reflexivity|]. rewrite IHm by lia. unfold impulse_in. destruct (Nat.eqb_spec (epoch t) m); [lia|reflexivity]. }
  induction n; intros H; [lia|]. simpl. unfold impulse_in at 2. destruct (Nat.eqb_spec (epoch t) n) as [<-|].
  - rewrite Z0 by lia. destruct (I t). unfold add. simpl. reflexivity.
  - rewrite IHn by lia. destruct (I t). unfold add. simpl. f_equal; lia.
Qed.
Lemma left_pos s t : le zero (left_of s t).
Proof. apply upto_pos. intros. apply response_pos. Qed.
Lemma left_step s t : le (add (A t (left_of s t)) (if s t then I t else zero)) (left_of s (S t)).
Proof.
  unfold left_of. pose proof (A_upto t (fun e => response s e t) E ltac:(intros; apply response_pos)) as H. simpl. rewrite upto_add.
  destruct (s t); [rewrite upto_impulse by apply HE; states; lia|].
  assert (Z0 : upto (fun _ => zero) E = zero) by (clear; induction E; simpl; [|rewrite IHn]; reflexivity). rewrite Z0. states. lia.
Qed.
Lemma all_pos rs t : le zero (all rs t).
Proof. induction rs as [|s rs IH]; simpl; [states; lia|]. pose proof (left_pos s t). states. lia. Qed.
Lemma all_step rs t : le (add (A t (all rs t)) (times (acting rs t) (I t))) (all rs (S t)).
Proof.
  induction rs as [|s rs IH]; [unfold acting; simpl; rewrite A_zero; states; lia|]. cbn [all].
  pose proof (A_add t (left_of s t) (all rs t) (left_pos s t) (all_pos rs t)). pose proof (left_step s t). 
  unfold acting in *. simpl filter. destruct (s t); cbn [length]; states; lia.
Qed.
(* What obeys the recursion of a difference is within k R_t. *)
Lemma responses_bound : forall rs (x : nat -> state), Forall (once epoch) rs -> x O = zero -> (forall t, le (x t) (both cap)) ->
  (forall t, le (x (S t)) (add (A t (x t)) (times (acting rs t) (I t)))) -> forall t, fst (x t) <= Z.of_nat (length rs) * radius_of_steps t.
Proof.
  intros rs x O X0 XL XS t.
  assert (H : le (x t) (all rs t)).
  { induction t; [rewrite X0; apply all_pos|]. pose proof (XS t). pose proof (A_mono t _ _ IHt). pose proof (all_step rs t). states. lia. }
  assert (B : forall s, In s rs -> le (left_of s t) (upto (fun e => greatest e t) E)).
  { intros s Hs. apply upto_le. intros. apply response_bounded. eapply Forall_forall; eauto. }
  assert (C : fst (all rs t) <= Z.of_nat (length rs) * fst (upto (fun e => greatest e t) E)).
  { clear - B. induction rs as [|s rs IH]; [cbn; lia|]. cbn [all length]. pose proof (B s (or_introl eq_refl)) as L. specialize (IH (fun s Hs => B s (or_intror Hs))).
    states. rewrite ?Nat2Z.inj_succ, ?Z.mul_succ_l. lia. }
  unfold radius_of_steps. pose proof (XL t) as Xt. states. destruct (Z.min_spec (fst (upto (fun e => greatest e t) E)) cap) as [(_ & ->)|(_ & ->)]; [lia|].
  destruct rs; [cbn [all length] in *; states; lia|]. pose proof (XL 0%nat) as C0. rewrite X0 in C0. states. cbn [length]. rewrite Nat2Z.inj_succ, Z.mul_succ_l. nia.
Qed.
End Responses.

(* ---- Any optimiser ---- *)
Section Network.
Variable Index : Type.                        (* of parameters *)
Variables (L : Z) (epoch : nat -> nat) (Gamma : Index -> Z) (R : Index -> nat -> Z).
Variable step : Index -> nat -> state -> Z -> state.
Variable left : Index -> nat -> state -> Z -> state.
Hypothesis HL : 0 <= L.
Hypothesis HG : forall p, 0 <= Gamma p.
(* An optimiser: a step does not fall with the state nor rise with the sum, stays within the limit, and leaves of a
   difference of states and of sums what `left` says; and that, of records that act once an epoch, is within the radius. *)
Definition keeps_order := forall p t s s' S S', le s s' -> S' <= S -> le (step p t s S) (step p t s' S').
Definition keeps_limit := forall p t s S, within L (step p t s S).
Definition leaves := forall p t s s' S S' b, Z.abs (S' - S) <= b -> le (apart (step p t s' S') (step p t s S)) (left p t (apart s' s) b).
Definition left_is_pos := forall p t r b, le zero r -> 0 <= b -> le zero (left p t r b).
Definition within_radius := forall p rs (x : nat -> state), Forall (once epoch) rs -> x O = zero -> (forall t, le zero (x t) /\ le (x t) (both (2 * L))) ->
  (forall t, le (x (S t)) (left p t (x t) (Z.of_nat (acting rs t) * Gamma p))) -> forall t, fst (x t) <= Z.of_nat (length rs) * R p t.
Definition optimiser := keeps_order /\ keeps_limit /\ leaves /\ left_is_pos /\ within_radius /\ forall p t, 0 <= R p t.

Definition point := Index -> Z.
Definition states_of := Index -> state.
Record box := { tlo : point; thi : point }.               (* of parameters *)
Record pairs := { lo : states_of; hi : states_of }.       (* of parameters and slots *)
Definition theta (s : states_of) : point := fun p => fst (s p).
Definition holds (B : box) (x : point) := forall p, tlo B p <= x p <= thi B p.
Definition inside (A B : box) := forall p, tlo B p <= tlo A p /\ thi A p <= thi B p.
Definition proper (A : box) := forall p, tlo A p <= thi A p.
Definition holds_pairs (B : pairs) (x : states_of) := forall p, le (lo B p) (x p) /\ le (x p) (hi B p).
Definition inside_pairs (A B : pairs) := forall p, le (lo B p) (lo A p) /\ le (hi A p) (hi B p).

Variable start : states_of.
Hypothesis start_within : forall p, within L (start p).
(* Of a dataset: the sums of clipped gradients in step t at a point, their bounds over a box, and what its charged boxes of
   level k become (both budgets); without them that is everything. *)
Record dataset := { at_point : nat -> point -> point; SL : nat -> box -> point; SU : nat -> box -> point;
                    charged : nat -> nat -> box -> pairs -> pairs }.
Definition everything : pairs := {| lo := fun _ => both (- L); hi := fun _ => both L |}.
Definition inclusion (D : dataset) := forall t B x p, holds B x -> SL D t B p <= at_point D t x p <= SU D t B p.

Fixpoint run (D : dataset) (t : nat) : states_of :=
  match t with O => start | S t => fun p => step p t (run D t p) (at_point D t (theta (run D t)) p) end.
(* the core widened by k R_t, and what that has in common with the charged box *)
Definition widened (k t : nat) (G P : pairs) : box :=
  {| tlo := fun p => Z.max (clamp L (fst (lo G p) - Z.of_nat k * R p t)) (fst (lo P p));
     thi := fun p => Z.min (clamp L (fst (hi G p) + Z.of_nat k * R p t)) (fst (hi P p)) |}.
Fixpoint boxes (D : dataset) (k t : nat) : pairs * pairs :=
  match t with
  | O => ({| lo := start; hi := start |}, {| lo := start; hi := start |})
  | S t => let G := fst (boxes D k t) in let P := snd (boxes D k t) in let T := widened k t G P in
    ({| lo := fun p => step p t (lo G p) (SU D t T p); hi := fun p => step p t (hi G p) (SL D t T p) |}, charged D k t T P)
  end.
Definition core D k t := fst (boxes D k t).
Definition extra D k t := snd (boxes D k t).
Definition T (D : dataset) (k t : nat) : box := widened k t (core D k t) (extra D k t).

(* D' has k changed records (one replaced counts as two), each acting once an epoch, by Gamma at most. *)
Definition changed (D D' : dataset) (rs : list schedule) :=
  Forall (once epoch) rs /\ forall t x p, Z.abs (at_point D' t x p - at_point D t x p) <= Z.of_nat (acting rs t) * Gamma p.
Definition charges_hold (D D' : dataset) (k : nat) := forall t T P, holds T (theta (run D' t)) -> holds_pairs P (run D' t) ->
  holds_pairs (charged D k t T P) (run D' (S t)).
(* bounds over nested boxes differ by what one changed record adds *)
Definition one_record (D D' : dataset) (rs : list schedule) :=
  Forall (once epoch) rs /\ forall t A B p, proper A -> inside A B ->
    SL D t B p - Z.of_nat (acting rs t) * Gamma p <= SL D' t A p /\ SU D' t A p <= SU D t B p + Z.of_nat (acting rs t) * Gamma p.
Definition charges_nest (D D' : dataset) (k k' : nat) := forall t A B P P', proper A -> inside A B -> inside_pairs P' P ->
  inside_pairs (charged D' k' t A P') (charged D k t B P).

Hypothesis opt : optimiser.
Let order : keeps_order := proj1 opt.
Let limit : keeps_limit := proj1 (proj2 opt).
Let leave : leaves := proj1 (proj2 (proj2 opt)).
Let left_pos : left_is_pos := proj1 (proj2 (proj2 (proj2 opt))).
Let bounded : within_radius := proj1 (proj2 (proj2 (proj2 (proj2 opt)))).
Let R_pos : forall p t, 0 <= R p t := proj2 (proj2 (proj2 (proj2 (proj2 opt)))).
Lemma run_within D t p : within L (run D t p).
Proof. destruct t; [apply start_within|apply limit]. Qed.

Theorem enclosure : forall D D' rs, inclusion D -> changed D D' rs -> charges_hold D D' (length rs) ->
  forall t, holds (T D (length rs) t) (theta (run D' t)).
Proof.
  intros D D' rs Inc (Once & Ch) Charge.
  (* the companion: this dataset's gradients at the other run's parameters *)
  set (phi := fix phi t : states_of := match t with O => start | S t => fun p => step p t (phi t p) (at_point D t (theta (run D' t)) p) end).
  assert (phi_within : forall t p, within L (phi t p)) by (destruct t; intros; [apply start_within|apply limit]).
  assert (near : forall t p, fst (apart (run D' t p) (phi t p)) <= Z.of_nat (length rs) * R p t).
  { intros t p. apply (bounded p rs (fun t => apart (run D' t p) (phi t p))).
    - exact Once.
    - apply apart_self.
    - intros u. apply apart_within; [apply run_within|apply phi_within].
    - intros u. apply leave. apply Ch. }
  assert (main : forall t, holds_pairs (core D (length rs) t) (phi t) /\ holds_pairs (extra D (length rs) t) (run D' t) /\
                           holds (T D (length rs) t) (theta (run D' t))).
  { assert (box_of : forall t, holds_pairs (core D (length rs) t) (phi t) -> holds_pairs (extra D (length rs) t) (run D' t) ->
                               holds (T D (length rs) t) (theta (run D' t))).
    { intros t H P p. destruct (H p) as ((H1 & _) & (H2 & _)). destruct (P p) as ((P1 & _) & (P2 & _)). destruct (run_within D' t p) as ((W1 & _) & (W2 & _)).
      pose proof (widened_holds L _ _ _ _ _ (conj W1 W2) (conj H1 H2) (near t p)) as (A & B). unfold T, widened, theta. cbn [tlo thi].
      split; [apply Z.max_lub|apply Z.min_glb]; assumption. }
    induction t.
    - assert (H : holds_pairs (core D (length rs) O) (phi O)) by (intros p; split; apply le_refl).
      assert (P : holds_pairs (extra D (length rs) O) (run D' O)) by (intros p; split; apply le_refl). auto.
    - destruct IHt as (I1 & I2 & I3).
      assert (H : holds_pairs (core D (length rs) (S t)) (phi (S t))).
      { intros p. pose proof (Inc t _ _ p I3). specialize (I1 p). split; apply order; (apply I1 || apply H). }
      assert (P : holds_pairs (extra D (length rs) (S t)) (run D' (S t))) by (apply Charge; assumption). auto. }
  intros t. apply main.
Qed.

(* Of a dataset itself, as one in which nobody has changed. *)
Lemma own_boxes D k : inclusion D -> charges_hold D D k -> forall t, proper (T D k t).
Proof.
  intros Inc Charge t p. set (rs := repeat (fun _ : nat => false) k). assert (Len : length rs = k) by apply repeat_length.
  assert (Nobody : forall n t, acting (repeat (fun _ : nat => false) n) t = O) by (intros n u; unfold acting; induction n; [|simpl; assumption]; reflexivity).
  rewrite <- Len in *. apply Z.le_trans with (theta (run D t) p); apply (enclosure D D rs Inc); try assumption; split;
    solve [apply Forall_forall; intros s Hs u u' Su; apply repeat_spec in Hs; subst s; discriminate|intros u x q; unfold rs; rewrite Nobody; lia].
Qed.
Theorem nesting : forall D D' rs k k', inclusion D' -> charges_hold D' D' k -> one_record D D' rs -> (k' = k + length rs)%nat -> charges_nest D D' k' k ->
  forall t, inside (T D' k t) (T D k' t).
Proof.
  intros D D' rs k k' Inc Charge (Once & Ch) Hk Nest. pose proof (own_boxes D' k Inc Charge) as Own.
  set (G' := core D' k). set (G := core D k'). set (c := Z.of_nat (length rs)).
  set (x := fun p t => beyond (hi (G' t) p) (hi (G t) p)). set (y := fun p t => beyond (lo (G t) p) (lo (G' t) p)).
  assert (close : forall t, (forall p, fst (x p t) <= c * R p t /\ fst (y p t) <= c * R p t) -> inside_pairs (extra D' k t) (extra D k' t) ->
                            inside (T D' k t) (T D k' t)).
  { intros t H P p. destruct (H p) as (A & B). destruct (P p) as ((P1 & _) & (P2 & _)). unfold T, widened. cbn [tlo thi]. fold (G' t) (G t).
    replace (Z.of_nat k' * R p t) with (Z.of_nat k * R p t + c * R p t) by (unfold c; rewrite Hk, Nat2Z.inj_add; ring).
    assert (w : 0 <= c * R p t) by (apply Z.mul_nonneg_nonneg; [unfold c; lia|apply R_pos]).
    split; [apply Z.max_le_compat|apply Z.min_le_compat]; try assumption; [apply widened_nests_below|apply widened_nests]; assumption. }
  assert (ends_within : forall D k t p, within L (lo (core D k t) p) /\ within L (hi (core D k t) p)).
  { intros D0 k0 t p. destruct t; split; (apply start_within || apply limit). }
  set (recursion := fun z p u => le (z p (S u)) (left p u (z p u) (Z.of_nat (acting rs u) * Gamma p)) : Prop).
  (* to bound x and y at t, their recursion is needed before t alone *)
  assert (imp : forall p u, 0 <= Z.of_nat (acting rs u) * Gamma p) by (intros p u; specialize (HG p); nia).
  assert (cut : forall z t p, z p O = zero -> (forall u, le zero (z p u) /\ le (z p u) (both (2 * L))) -> (forall u, (u < t)%nat -> recursion z p u) ->
                              fst (z p t) <= c * R p t).
  { intros z t p Z0 ZL ZS. set (z' := fun u => if (u <=? t)%nat then z p u else zero).
    replace (z p t) with (z' t) by (unfold z'; rewrite Nat.leb_refl; reflexivity). unfold c. apply (bounded p rs z' Once).
    - exact Z0.
    - intros u. unfold z'. destruct (u <=? t)%nat; [apply ZL|states; lia].
    - intros u. unfold z'. destruct (Nat.leb_spec (S u) t).
      + destruct (Nat.leb_spec u t); [apply ZS; lia|lia].
      + apply left_pos; [destruct (u <=? t)%nat; [apply ZL|states; lia]|apply imp]. }
  (* two ends a, a' of cores, whose sums are lower by b at most *)
  assert (up : forall p t a a' S S' b, 0 <= b -> S - b <= S' -> le (beyond (step p t a' S') (step p t a S)) (left p t (beyond a' a) b)).
  { intros p t a a' S S' b Hb HS.
    assert (M : le a' (pmax a a') /\ le a (pmax a a')) by (clear; states; lia).
    pose proof (order p t a' (pmax a a') S' (Z.min S S') (proj1 M) ltac:(lia)) as O1.
    pose proof (order p t a (pmax a a') S (Z.min S S') (proj2 M) ltac:(lia)) as O2.
    pose proof (leave p t a (pmax a a') S (Z.min S S') b ltac:(lia)) as A.
    replace (apart (pmax a a') a) with (beyond a' a) in A by (clear; destruct a, a'; states; f_equal; lia).
    apply le_trans with (apart (step p t (pmax a a') (Z.min S S')) (step p t a S)); [|exact A]. clear - O1 O2. states. lia. }
  assert (rec : forall u, inside (T D' k u) (T D k' u) -> forall p, recursion x p u /\ recursion y p u).
  { intros u N p. destruct (Ch u _ _ p (Own u) N) as (A & B). split.
    - exact (up p u (hi (G u) p) (hi (G' u) p) _ _ _ (imp p u) A).
    - apply (up p u (lo (G' u) p) (lo (G u) p) (SU D' u (T D' k u) p) (SU D u (T D k' u) p) _ (imp p u)). lia. }
  assert (main : forall t, inside (T D' k t) (T D k' t) /\ inside_pairs (extra D' k t) (extra D k' t)).
  { induction t as [t IH] using (well_founded_induction Wf_nat.lt_wf).
    assert (P : inside_pairs (extra D' k t) (extra D k' t)).
    { destruct t as [|t]; [intros p; split; apply le_refl|]. destruct (IH t ltac:(lia)). apply Nest; [apply Own|assumption|assumption]. }
    split; [|exact P]. apply close; [|exact P]. intros p.
    split; (apply cut; [apply beyond_self|intros u; apply beyond_within; apply ends_within|intros u Hu; apply (rec u (proj1 (IH u Hu)))]). }
  intros t. apply main.
Qed.
End Network.

(* ---- The update rule, over the integers: factors d, v are any real numbers, roundings are the program's. ---- *)
Section UpdateRule.
Variables (d v : R).
Hypothesis Hd : (0 <= d <= 1)%R.
Hypothesis Hv : (0 <= v)%R.
Definition nearest (x : R) := Zfloor (x + / 2).
Definition f (theta : Z) := theta - nearest (d * IZR theta).
Definition h (r : Z) := r - Zfloor (d * IZR r).
Definition g (S : Z) := nearest (v * IZR S).

Lemma floor_add x y : Zfloor x + Zfloor y <= Zfloor (x + y) <= Zfloor x + Zceil y.
Proof.
  split.
  - apply Zfloor_lub. rewrite plus_IZR. pose proof (Zfloor_lb x). pose proof (Zfloor_lb y). lra.
  - apply le_IZR. rewrite plus_IZR. pose proof (Zfloor_lb (x + y)). pose proof (Zceil_ub y).
    assert (Zfloor (x + y) < Zfloor x + Zceil y + 1); [|rewrite <- plus_IZR; apply IZR_le; lia].
    apply lt_IZR. rewrite !plus_IZR. pose proof (Zfloor_ub x). lra.
Qed.
Lemma part_of r : 0 <= r -> 0 <= Zfloor (d * IZR r) /\ Zceil (d * IZR r) <= r.
Proof.
  intros H. apply IZR_le in H. split.
  - apply Zfloor_lub. apply Rmult_le_pos; lra.
  - apply Zceil_glb. apply Rle_trans with (1 * IZR r)%R; [apply Rmult_le_compat_r; lra|lra].
Qed.
Lemma f_step theta r : 0 <= r -> 0 <= f (theta + r) - f theta <= h r.
Proof.
  intros Hr. unfold f, h, nearest. rewrite plus_IZR.
  replace (d * (IZR theta + IZR r) + / 2)%R with ((d * IZR theta + / 2) + d * IZR r)%R by ring.
  pose proof (floor_add (d * IZR theta + / 2) (d * IZR r)). pose proof (part_of r Hr). lia.
Qed.
Lemma g_step S b : 0 <= b -> 0 <= g (S + b) - g S <= Zceil (v * IZR b).
Proof.
  intros Hb. unfold g, nearest. rewrite plus_IZR.
  replace (v * (IZR S + IZR b) + / 2)%R with ((v * IZR S + / 2) + v * IZR b)%R by ring.
  pose proof (floor_add (v * IZR S + / 2) (v * IZR b)).
  assert (0 <= Zfloor (v * IZR b)); [|lia]. apply Zfloor_lub. apply Rmult_le_pos; [exact Hv|apply IZR_le; lia].
Qed.
Lemma h_zero : h 0 = 0.
Proof. unfold h. rewrite Rmult_0_r, Zfloor_IZR. reflexivity. Qed.
Lemma h_mono r s : r <= s -> h r <= h s.
Proof.
  intros H. unfold h. replace s with (r + (s - r)) at 1 2 by lia. rewrite plus_IZR, Rmult_plus_distr_l.
  pose proof (floor_add (d * IZR r) (d * IZR (s - r))). pose proof (part_of (s - r) ltac:(lia)). lia.
Qed.
Lemma h_pos r : 0 <= r -> 0 <= h r.
Proof. intros. rewrite <- h_zero. apply h_mono. lia. Qed.
Lemma h_sub r s : h (r + s) <= h r + h s.
Proof. unfold h. rewrite plus_IZR, Rmult_plus_distr_l. pose proof (floor_add (d * IZR r) (d * IZR s)). lia. Qed.
Lemma ceil_pos b : 0 <= b -> 0 <= Zceil (v * IZR b).
Proof. intros. apply le_IZR. eapply Rle_trans; [|apply Zceil_ub]. apply Rmult_le_pos; [exact Hv|apply IZR_le; lia]. Qed.
Lemma ceil_mono a b : a <= b -> Zceil (v * IZR a) <= Zceil (v * IZR b).
Proof. intros. apply Zceil_le. apply Rmult_le_compat_l; [exact Hv|apply IZR_le; assumption]. Qed.
Lemma ceil_sub a b : Zceil (v * IZR (a + b)) <= Zceil (v * IZR a) + Zceil (v * IZR b).
Proof. apply Zceil_glb. rewrite !plus_IZR. pose proof (Zceil_ub (v * IZR a)). pose proof (Zceil_ub (v * IZR b)). lra. Qed.
Lemma ceil_times (n : nat) b : Zceil (v * IZR (Z.of_nat n * b)) <= Z.of_nat n * Zceil (v * IZR b).
Proof.
  apply Zceil_glb. rewrite !mult_IZR. pose proof (Zceil_ub (v * IZR b)).
  assert (0 <= IZR (Z.of_nat n))%R by (apply IZR_le; lia). nra.
Qed.
Lemma clamp_step L x y : 0 <= L -> x <= y -> 0 <= clamp L y - clamp L x <= y - x.
Proof. unfold clamp. lia. Qed.
Lemma clamp_range L x : 0 <= L -> - L <= clamp L x <= L.
Proof. unfold clamp. lia. Qed.
Definition thresholded (theta s : Z) := theta - Z.min (Z.max theta (- s)) s.

(* rules 1 to 5 and 8 of the lemma *)
Theorem update_rule : 
  (forall a b, a <= b -> f a <= f b /\ g a <= g b /\ h a <= h b) /\
  (forall S b, 0 <= b -> g (S + b) - g S <= Zceil (v * IZR b)) /\
  (forall theta r, 0 <= r -> 0 <= f (theta + r) - f theta <= h r) /\
  (forall r s, h (r + s) <= h r + h s /\ Zceil (v * IZR (r + s)) <= Zceil (v * IZR r) + Zceil (v * IZR s)) /\
  (forall L x y, 0 <= L -> x <= y -> 0 <= clamp L y - clamp L x <= y - x) /\
  (forall s x y, 0 <= s -> x <= y -> 0 <= thresholded y s - thresholded x s <= y - x).
Proof.
  repeat match goal with |- _ /\ _ => split end.
  - intros a b H. pose proof (f_step a (b - a) ltac:(lia)). pose proof (g_step a (b - a) ltac:(lia)). pose proof (h_mono a b H).
    replace (a + (b - a)) with b in * by lia. lia.
  - intros. apply g_step. assumption.
  - apply f_step.
  - intros. split; [apply h_sub|apply ceil_sub].
  - intros. apply clamp_step; assumption.
  - unfold thresholded. lia.
Qed.
(* differences, whatever their signs *)
Lemma f_apart a b : Z.abs (f b - f a) <= h (Z.abs (b - a)).
Proof.
  destruct (Z_le_dec a b).
  - pose proof (f_step a (b - a) ltac:(lia)). replace (a + (b - a)) with b in * by lia. rewrite (Z.abs_eq (b - a)) by lia. lia.
  - pose proof (f_step b (a - b) ltac:(lia)). replace (b + (a - b)) with a in * by lia. replace (Z.abs (b - a)) with (a - b) by lia. lia.
Qed.
Lemma g_apart S S' b : Z.abs (S' - S) <= b -> Z.abs (g S' - g S) <= Zceil (v * IZR b).
Proof.
  intros H. destruct (Z_le_dec S S').
  - pose proof (g_step S (S' - S) ltac:(lia)). pose proof (ceil_mono (S' - S) b ltac:(lia)). replace (S + (S' - S)) with S' in * by lia. lia.
  - pose proof (g_step S' (S - S') ltac:(lia)). pose proof (ceil_mono (S - S') b ltac:(lia)). replace (S' + (S - S')) with S in * by lia. lia.
Qed.
Lemma clamp_apart L x y : 0 <= L -> Z.abs (clamp L y - clamp L x) <= Z.abs (y - x).
Proof. unfold clamp. lia. Qed.
(* updated(): one step of what takes gradients *)
Definition updated (L theta S : Z) := clamp L (f theta - g S).
Lemma updated_mono L a b S S' : 0 <= L -> a <= b -> S' <= S -> updated L a S <= updated L b S'.
Proof.
  intros HL H HS. unfold updated. pose proof (f_step a (b - a) ltac:(lia)). pose proof (g_step S' (S - S') ltac:(lia)).
  replace (a + (b - a)) with b in * by lia. replace (S' + (S - S')) with S in * by lia.
  pose proof (clamp_step L (f a - g S) (f b - g S') HL). lia.
Qed.
Lemma updated_apart L a a' S S' b : 0 <= L -> Z.abs (S' - S) <= b ->
  Z.abs (updated L a' S' - updated L a S) <= h (Z.abs (a' - a)) + Zceil (v * IZR b).
Proof.
  intros HL HS. unfold updated. pose proof (clamp_apart L (f a - g S) (f a' - g S') HL). pose proof (f_apart a a'). pose proof (g_apart S S' b HS). lia.
Qed.
End UpdateRule.

(* ---- Plain descent is an optimiser of which all this holds. ---- *)
Section Descent.
Variables (Index : Type) (L : Z) (epoch : nat -> nat) (E : nat) (Gamma : Index -> Z) (decay rate : nat -> R).
Hypothesis HL : 0 <= L.
Hypothesis HE : forall t, (epoch t < E)%nat.
Hypothesis HG : forall p, 0 <= Gamma p.
Hypothesis Hdecay : forall t, (0 <= decay t <= 1)%R.
Hypothesis Hrate : forall t, (0 <= rate t)%R.
Definition descent (_ : Index) t (s : state) S : state := (updated (decay t) (rate t) L (fst s) S, 0).
Definition descent_left (_ : Index) t (r : state) b : state := (h (decay t) (fst r) + Zceil (rate t * IZR b), 0).
(* EpochResponses *)
Definition impulse (Gamma : Z) t : state := (Z.min (Zceil (rate t * IZR Gamma)) (2 * L), 0).
Definition decayed t (r : state) : state := (h (decay t) (fst r), 0).
Definition radius (p : Index) t : Z := radius_of_steps epoch E (2 * L) decayed (impulse (Gamma p)) t.

Theorem core_and_radius : optimiser Index L epoch Gamma radius descent descent_left.
Proof.
  assert (I_pos : forall p t, le zero (impulse (Gamma p) t)).
  { intros p t. pose proof (ceil_pos (rate t) (Hrate t) (Gamma p) (HG p)). unfold impulse. states. lia. }
  assert (A_zero : forall t, decayed t zero = zero) by (intros; unfold decayed; states; rewrite h_zero; reflexivity).
  assert (A_mono : forall t r s, le r s -> le (decayed t r) (decayed t s)).
  { intros t r s H. pose proof (h_mono (decay t) (Hdecay t) (fst r) (fst s) (proj1 H)). unfold decayed. states. lia. }
  assert (A_add : forall t r s, le zero r -> le zero s -> le (decayed t (add r s)) (add (decayed t r) (decayed t s))).
  { intros t r s _ _. pose proof (h_sub (decay t) (fst r) (fst s)). unfold decayed. states. lia. }
  unfold optimiser. repeat match goal with |- _ /\ _ => split end.
  - intros p t s s' S S' H HS. split; [|cbn; lia]. apply updated_mono; auto. apply H.
  - intros p t s S. pose proof (clamp_range L (f (decay t) (fst s) - g (rate t) S) HL). unfold within, descent, updated. states. lia.
  - intros p t s s' S S' b HS. pose proof (updated_apart (decay t) (rate t) (Hdecay t) (Hrate t) L (fst s) (fst s') S S' b HL HS).
    unfold descent, descent_left. states. lia.
  - intros p t r b H Hb. pose proof (h_pos (decay t) (Hdecay t) (fst r) (proj1 H)). pose proof (ceil_pos (rate t) (Hrate t) b Hb). unfold descent_left. states. lia.
  - intros p rs x O X0 XL XS. unfold radius. apply responses_bound; auto; [intros t; apply XL|].
    intros t. destruct (XS t) as (X1 & X2). destruct (XL (S t)) as (_ & (X3 & _)). destruct (XL t) as ((X4 & _) & _). unfold descent_left in X1, X2. unfold both in X3. cbn [fst snd zero] in X1, X2, X3, X4.
    pose proof (ceil_times (rate t) (acting rs t) (Gamma p)). pose proof (h_pos (decay t) (Hdecay t) _ X4). pose proof (ceil_pos (rate t) (Hrate t) _ (HG p)).
    unfold decayed, impulse. split; cbn [fst snd add times]; [|lia].
    destruct (Z.min_spec (Zceil (rate t * IZR (Gamma p))) (2 * L)) as [(_ & ->)|(_ & ->)]; [lia|].
    destruct (acting rs t) as [|n]; [change (Z.of_nat 0) with 0 in *; rewrite Z.mul_0_l, Rmult_0_r, Zceil_IZR in X1; lia|rewrite Nat2Z.inj_succ, Z.mul_succ_l; nia].
  - intros p t. unfold radius, radius_of_steps. apply Z.min_glb; [|lia]. apply (upto_pos (fun e => greatest epoch decayed (impulse (Gamma p)) e t) E).
    intros e. induction t; simpl; [states; lia|]. specialize (A_mono t _ _ IHt). rewrite A_zero in A_mono. states. lia.
Qed.
End Descent.

(* ---- Budgets ---- *)
(* per_epoch: nothing is charged in a step. *)
Lemma everything_holds Index L epoch Gamma R step left start : 0 <= L -> optimiser Index L epoch Gamma R step left -> (forall p, within L (start p)) ->
  forall D D' k, (forall t B P, charged Index D k t B P = everything Index L) -> charges_hold Index step start D D' k.
Proof. intros HL O Hs D D' k All t B P _ _ p. rewrite All. destruct O as (_ & Lim & _). apply Lim. Qed.
Lemma everything_nests Index L D D' k k' : (forall t B P, charged Index D k t B P = everything Index L) ->
  (forall t B P, charged Index D' k' t B P = everything Index L) -> charges_nest Index D D' k k'.
Proof. intros All All' t A B P P' _ _ _ p. rewrite All, All'. split; apply le_refl. Qed.

(* both: a charged box takes its step with the sums over all that they have in common, and charges on them. *)
Section Both.
Variables (Index : Type) (L : Z) (epoch : nat -> nat) (Gamma : Index -> Z) (R : Index -> nat -> Z).
Variables (step : Index -> nat -> state -> Z -> state) (left : Index -> nat -> state -> Z -> state) (start : Index -> state).
Hypothesis opt : optimiser Index L epoch Gamma R step left.
(* what is charged below and above (charges.v) *)
Variables (cL cU : dataset Index -> nat -> nat -> box Index -> Index -> Z).
Definition charged_step (D : dataset Index) k t (B : box Index) (P : pairs Index) : pairs Index :=
  {| lo := fun p => step p t (tlo _ B p, snd (lo _ P p)) (SU _ D t B p + cU D k t B p);
     hi := fun p => step p t (thi _ B p, snd (hi _ P p)) (SL _ D t B p - cL D k t B p) |}.
Definition charges_enclose D D' k := forall t B x p, holds Index B x ->
  SL _ D t B p - cL D k t B p <= at_point _ D' t x p <= SU _ D t B p + cU D k t B p.
Definition charges_shrink D D' k k' := forall t A B p, proper Index A -> inside Index A B ->
  SL _ D t B p - cL D k t B p <= SL _ D' t A p - cL D' k' t A p /\ SU _ D' t A p + cU D' k' t A p <= SU _ D t B p + cU D k t B p.
Theorem both_budgets : 
  (forall D D' k, (forall t B P, charged Index D k t B P = charged_step D k t B P) -> charges_enclose D D' k -> charges_hold Index step start D D' k) /\
  (forall D D' k k', (forall t B P, charged Index D k t B P = charged_step D k t B P) -> (forall t B P, charged Index D' k' t B P = charged_step D' k' t B P) ->
    charges_shrink D D' k k' -> charges_nest Index D D' k k').
Proof.
  destruct opt as (order & _). split.
  - intros D D' k C Enc t B P HB HP p. rewrite C. destruct (Enc t B _ p HB). destruct (HP p) as ((_ & P1) & (_ & P2)). destruct (HB p).
    split; apply order; try assumption; split; assumption.
  - intros D D' k k' C C' Sh t A B P P' Pr HA HP p. rewrite C, C'. destruct (Sh t A B p Pr HA). destruct (HA p). destruct (HP p) as ((_ & P1) & (_ & P2)).
    split; apply order; try assumption; split; assumption.
Qed.
End Both.

(* ---- Examples, and wrong statements refuted: one parameter, sums that do not depend on it ---- *)
Definition first_steps (t : nat) : nat := Nat.min t 1.
Definition acts_at (u : nat) : schedule := fun t => Nat.eqb t u.
Lemma acts_once epoch u : once epoch (acts_at u).
Proof. intros t t' H H' _. apply Nat.eqb_eq in H, H'. congruence. Qed.
(* a dataset whose step t sums to s t *)
Definition summing (s : nat -> Z) : dataset unit :=
  {| at_point := fun t _ _ => s t; SL := fun t _ _ => s t; SU := fun t _ _ => s t; charged := fun _ _ _ _ => everything unit 100 |}.
Definition nobody : dataset unit := summing (fun _ => 3).
Definition somebody : dataset unit := summing (fun t => if Nat.eqb t 1 then 4 else 3).
Definition at_5 : unit -> state := fun _ => (5, 0).
Lemma at_5_within p : within 100 (at_5 p).
Proof. unfold within, at_5. states. lia. Qed.
Definition tenth (_ : nat) : R := (1 / 10)%R.
Example core_and_radius_example : optimiser unit 100 first_steps (fun _ => 1) (radius unit 100 first_steps 2 (fun _ => 1) tenth tenth) (descent unit 100 tenth tenth) (descent_left unit tenth tenth).
Proof. apply core_and_radius; unfold first_steps, tenth; intros; try lia; lra. Qed.
Example enclosure_example : forall t, holds unit (T unit 100 (radius unit 100 first_steps 2 (fun _ => 1) tenth tenth) (descent unit 100 tenth tenth) at_5 nobody 1 t)
  (theta unit (run unit (descent unit 100 tenth tenth) at_5 somebody t)).
Proof.
  apply (enclosure unit 100 first_steps (fun _ => 1)) with (left := descent_left unit tenth tenth) (rs := [acts_at 1]).
  - exact at_5_within.
  - exact core_and_radius_example.
  - intros t B x p _. cbn. lia.
  - split; [constructor; [apply acts_once|constructor]|]. intros t x p. cbn. unfold acting, acts_at. cbn. destruct (Nat.eqb t 1); cbn; lia.
  - eapply everything_holds; [|exact core_and_radius_example|exact at_5_within|reflexivity]. lia.
Qed.
Example nesting_example : forall t, inside unit (T unit 100 (radius unit 100 first_steps 2 (fun _ => 1) tenth tenth) (descent unit 100 tenth tenth) at_5 somebody 3 t)
  (T unit 100 (radius unit 100 first_steps 2 (fun _ => 1) tenth tenth) (descent unit 100 tenth tenth) at_5 nobody 4 t).
Proof.
  apply (nesting unit 100 first_steps (fun _ => 1)) with (left := descent_left unit tenth tenth) (rs := [acts_at 1]).
  - lia.
  - intros. lia.
  - exact at_5_within.
  - exact core_and_radius_example.
  - intros t B x p _. cbn. lia.
  - eapply everything_holds; [|exact core_and_radius_example|exact at_5_within|reflexivity]. lia.
  - split; [constructor; [apply acts_once|constructor]|]. intros t A B p _ _. cbn. unfold acting, acts_at. cbn. destruct (Nat.eqb t 1); cbn; lia.
  - reflexivity.
  - apply (everything_nests unit 100); reflexivity.
Qed.
Example update_rule_example : f (1 / 3) 1 <= f (1 / 3) 2.
Proof. apply (update_rule (1 / 3) 1); try lra. lia. Qed.
Example both_budgets_example : let D := summing (fun _ => 3) in let charge := charged_step unit (descent unit 100 tenth tenth) (fun _ _ _ _ _ => 1) (fun _ _ _ _ _ => 1) in
  charges_hold unit (descent unit 100 tenth tenth) at_5 {| at_point := at_point unit D; SL := SL unit D; SU := SU unit D; charged := charge D |} somebody 1.
Proof.
  intros D charge. pose proof (both_budgets unit 100 first_steps (fun _ => 1) _ _ _ at_5 core_and_radius_example (fun _ _ _ _ _ => 1) (fun _ _ _ _ _ => 1)) as (H & _).
  apply H; [reflexivity|]. intros t B x p _. cbn. destruct (Nat.eqb t 1); lia.
Qed.

(* To the nearest in place of up. *)
Fact update_rule_mutant : ~ g (1 / 3) (1 + 1) - g (1 / 3) 1 <= nearest (1 / 3 * IZR 1).
Proof. unfold g, nearest. rewrite (Zfloor_imp 1), !(Zfloor_imp 0) by (simpl; lra). lia. Qed.
(* A decay of more than 1. *)
Fact core_and_radius_mutant : ~ keeps_order unit (descent unit 100 (fun _ => 2%R) (fun _ => 0%R)).
Proof.
  intros H. specialize (H tt O (0, 0) (1, 0) 0 0 ltac:(states; lia) ltac:(lia)). revert H. unfold descent, updated, f, g, nearest. cbn [fst snd].
  rewrite (Zfloor_imp 2 (2 * 1 + / 2)), !(Zfloor_imp 0) by (simpl; lra). unfold clamp. states. lia.
Qed.
(* Descent at rate 1 without decay, in integers. *)
Definition plain (_ : unit) (_ : nat) (s : state) (S : Z) : state := (clamp 100 (fst s - S), 0).
Definition adding (s : nat -> Z) : dataset unit := summing s.
(* A record that acts twice an epoch has twice the radius. *)
Fact enclosure_mutant : ~ holds unit (T unit 100 (fun _ _ => 1) plain (fun _ => zero) (adding (fun _ => 0)) 1 2) (theta unit (run unit plain (fun _ => zero) (adding (fun _ => 1)) 2)).
Proof. intros H. specialize (H tt). vm_compute in H. destruct H as (H & _). apply H. reflexivity. Qed.
(* Boxes of the same level do not nest. *)
Fact nesting_mutant : ~ inside unit (T unit 100 (fun _ _ => 1) plain (fun _ => zero) (adding (fun _ => 1)) 0 1) (T unit 100 (fun _ _ => 1) plain (fun _ => zero) (adding (fun _ => 0)) 0 1).
Proof. intros H. specialize (H tt). vm_compute in H. destruct H as (H & _). apply H. reflexivity. Qed.
(* Nothing charged. *)
Fact both_budgets_mutant : let D := adding (fun _ => 0) in let charge := charged_step unit plain (fun _ _ _ _ _ => 0) (fun _ _ _ _ _ => 0) D in
  ~ holds_pairs unit (charge 1%nat O {| tlo := fun _ => 0; thi := fun _ => 0 |} {| lo := fun _ => zero; hi := fun _ => zero |}) (run unit plain (fun _ => zero) (adding (fun _ => 1)) 1).
Proof. intros D charge H. specialize (H tt). vm_compute in H. destruct H as ((H & _) & _). apply H. reflexivity. Qed.
